"""What sharp accounting is worth: two stories in one picture, and a report of each. `make demo` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from zcdp import Account, account
from zcdp.report import render

HERE = Path(__file__).parent
STORIES = (
    ("product.toml", "Reports from phones for a year"),
    ("census.toml", "Counts of a census"),
)
WIDTH, ROW = 720, 30
STYLE = (
    "text{font:15px system-ui,sans-serif;fill:#1b1f24}.soft{fill:#57606a}.strong{font-weight:700}.usual{fill:#9aa4af}"
    ".ours{fill:#0072b2}@media(prefers-color-scheme:dark){text{fill:#e6e9ed}.soft{fill:#a3acb6}.usual{fill:#66717d}"
    ".ours{fill:#56b4e9}}"
)


def facts() -> list[tuple[str, Account, float, float]]:
    """Title, account, the usual charge and the certified cost, in rho."""
    found = [(title, account(HERE / file, curve=False)) for file, title in STORIES]
    return [(title, one, one.total.usual["epsilon^2/2"].rho, one.total.rho) for title, one in found]


def picture(rows: list[tuple[str, Account, float, float]]) -> str:
    """Two bars a story, each story at its own scale: what is usually charged, and the certified cost."""
    shown, y = [], 22
    for title, _, usual, ours in rows:
        saved = f"{int(1000 * (1 - ours / usual)) / 10:.1f}% less"
        shown.append(f'<text class="strong" x="0" y="{y}">{title}: {saved}</text>')
        for kind, label, value in (("usual", "usually charged", usual), ("ours", "certified", ours)):
            size = 440 * value / usual
            shown.append(f'<text class="soft" x="0" y="{y + ROW - 4}">{label}</text>')
            shown.append(f'<rect class="{kind}" x="130" y="{y + ROW - 19}" width="{size:.1f}" height="20" rx="3"/>')
            shown.append(f'<text x="{138 + size:.1f}" y="{y + ROW - 4}">rho = {value:.3f}</text>')
            y += ROW
        y += 34
    title = "Privacy spent: the usual charge epsilon^2/2 beside the certified cost"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - 16}" role="img" aria-label="{title}">'
        f"<style>{STYLE}</style>{''.join(shown)}</svg>\n"
    )


def main(out: Path) -> None:
    """The picture in words and as a file, then a report for each story."""
    rows = facts()
    print("Privacy spent (rho): what is usually charged, epsilon^2/2, beside the certified cost")
    print()
    for title, one, usual, ours in rows:
        print(f"{title}: {int(1000 * (1 - ours / usual)) / 10:.1f}% less, for the same releases")
        for label, value in (("usually charged", usual), ("certified", ours)):
            print(f"  {label:16} {'#' * round(44 * value / usual)} {value:.3f}")
        total = one.total
        print(f"  epsilon at delta = {one.delta:g}: {total.usual['epsilon^2/2'].epsilon:.2f} -> {total.epsilon:.2f}")
        print()
    out.mkdir(parents=True, exist_ok=True)
    (out / "saved.svg").write_text(picture(rows), encoding="utf-8")
    print(f"The picture: {out / 'saved.svg'}")
    for file, title in STORIES:
        page = out / f"{Path(file).stem}.html"
        page.write_text(render(account(HERE / file)), encoding="utf-8")
        print(f"{title}, the report for the privacy office: {page}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build"))
