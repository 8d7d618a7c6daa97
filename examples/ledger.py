"""A budget that lasts: two programs share an account, one is interrupted, and the record is checked."""

from tempfile import TemporaryDirectory

from zcdp import BudgetExceeded, DiscreteLaplace, Ledger

TABLE = {"under 18": 1203, "18 to 64": 4871, "65 and over": 1544}
NOISE = DiscreteLaplace(scale=20)


def draw() -> bytes:
    """Read the data, add the noise; called once, after the debit."""
    return "\n".join(f"{name}: {NOISE.release(count)}" for name, count in TABLE.items()).encode()


with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db") as ledger:
    ledger.open_account("census", unit="person", rho="0.005", why="decision 12/2025")

    # a person is in one row of the table, so that the whole table is one use of the mechanism
    first = ledger.release("census", NOISE, draw, key="2026-q1/ages", why="ages, first quarter")
    print(first.decode())

    again = ledger.release("census", NOISE, draw, key="2026-q1/ages")  # a retry: the same bytes, nothing spent
    print("\nthe retry returned the same bytes:", again == first)

    try:
        for quarter in range(2, 9):
            ledger.release("census", NOISE, draw, key=f"quarter {quarter}", why="ages")
    except BudgetExceeded as refusal:
        print(f"quarter {quarter}: {refusal}")

    print(f"remaining rho: {float(ledger.remaining('census')):.6f}")
    print("the record is whole:", ledger.verify().passed)
    print("head to write down:", ledger.head)
