"""Accounts and entries of a ledger as tables on a terminal; nothing in them can command it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zcdp.accounting.printable import spelled
from zcdp.cli.columns import columns
from zcdp.cli.terminal import dim, width
from zcdp.display.plain import cost, lower, spent
from zcdp.ledger import Account, Entry
from zcdp.ledger.model import amount
from zcdp.ledger.statement import mechanism_of

__all__ = ["accounts_table", "history_table"]


def accounts_table(accounts: Iterable[Account]) -> Iterator[str]:
    """One line an account."""
    rows = [["account", "unit", "counts", "budget", "spent", "", "remaining"]]
    for one in accounts:
        order = one.terms.order
        rows.append(
            [
                spelled(one.name),
                spelled(one.terms.unit),
                "rho" if order is None else f"order {float(order):g}",
                cost(float(one.budget)),
                cost(float(one.spent)),
                spent(float(one.spent / one.budget)),
                lower(float(one.remaining)),
            ]
        )
    head, *body = columns(rows, "<<<>>>>", width=width(), gives_way=(0, 1))
    yield dim(head)
    yield from body


def history_table(entries: Iterable[Entry]) -> Iterator[str]:
    """Two lines an entry: the facts, and below them what was run and why."""
    rows = [["", "when", "what", "account", "key", "amount", "by"]]
    below = []
    for one in entries:
        size = cost(float(amount(one.amount))) if one.amount else ""
        by = f"{one.login} ({one.who})" if one.who else one.login
        words = map(spelled, (one.kind, one.account, one.key))
        rows.append([str(one.seq), one.at[:16].replace("T", " "), *words, size, spelled(by)])
        run = mechanism_of(one.what) if one.kind == "spend" else ""
        below.append(spelled(" - ".join(part for part in (run, one.why) if part)))
    head, *body = columns(rows, "><<<<><", width=width(), gives_way=(4, 3, 6))
    yield dim(head)
    for text, more in zip(body, below, strict=True):
        yield text
        if more:
            room = width() - 4
            yield dim(f"    {more if len(more) <= room else more[: room - 1] + '…'}")
