"""Formulas that are written as plain text, as MathML: no script and no network, and nothing lost on the way.

`python tools/mathml.py "rho = epsilon + e^-epsilon - 1"` prints one. mkdocs runs `on_page_markdown` on every page: what
is indented on the page of a theorem and reads as a formula is typeset, with the plain text kept for those who copy it.
A quotient is drawn as a fraction only where plain text leaves no doubt what stands above and below the line.
"""

from __future__ import annotations

import re
import sys
from html import escape
from typing import Any

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "psi": "ψ", "omega": "ω", "Delta": "Δ", "Phi": "Φ", "Psi": "Ψ", "Sigma": "Σ", "Gamma": "Γ", "Theta": "Θ",
    "Lambda": "Λ", "Omega": "Ω", "inf": "∞", "zeta": "ζ", "chi": "χ",
}  # fmt: skip
FUNCTIONS = frozenset(
    ["log", "exp", "sinh", "cosh", "tanh", "coth", "csch", "sech", "sin", "cos", "tan", "min", "max", "sup", "sqrt"]
) | {"expm1", "log1p", "erfc", "erf", "sinhc", "Pr"}
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "*": "·", "-": "−", "==": "="}
OPEN, CLOSE = "([{", ")]}"
RELATIONS = {"=", "<=", ">=", "<", ">", "!=", "->", "==", ",", ";", ":", ".", "+", "-", "*"}
_TOKEN = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?(?![a-zA-Z])|\d+|[A-Za-z]+|<=|>=|!=|->|==|\.\.\.|\S")
Tree = tuple[str, Any]


class NotAFormula(ValueError):
    """The text is something else."""


class _Reader:
    """Reads a line of tokens into a tree: rows of signs and of products."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.next = 0

    def peek(self) -> str:
        return self.tokens[self.next] if self.next < len(self.tokens) else ""

    def take(self) -> str:
        self.next += 1
        return self.tokens[self.next - 1]

    def row(self, end: str = "") -> list[Tree]:
        parts: list[Tree] = []
        while self.peek() != end:
            token = self.peek()
            if not token or token in CLOSE:
                raise NotAFormula(token)
            if token in RELATIONS or token in ("|", "/", "..."):
                self.take()
                sign: Tree = ("sign", token)
                if token == "|" and self.peek() == "^":  # the square of an absolute value
                    self.take()
                    sign = ("up", (sign, self.script()))
                parts.append(sign)
            else:
                parts.append(self.factor())
        return _fractions(parts)

    def factor(self) -> Tree:
        base = self.atom()
        while self.peek() in ("^", "_", "'"):
            kind = self.take()
            if kind == "'":
                base = ("up", (base, ("sign", "′")))
            else:
                base = ("up" if kind == "^" else "down", (base, self.script()))
        if base[0] == "name" and base[1] in FUNCTIONS and self.peek() == "(":
            return ("call", (base, self.factor()))
        return base

    def script(self) -> Tree:
        if self.peek() == "-":
            self.take()
            return ("row", [("sign", "-"), self.atom()])
        part = self.atom()
        return ("row", part[1][1]) if part[0] == "group" and part[1][0] == "{" else part

    def atom(self) -> Tree:
        token = self.take() if self.peek() else ""
        if not token:
            raise NotAFormula("the end")
        if token in OPEN:
            inside = self.row(CLOSE[OPEN.index(token)])
            self.take()
            return ("group", (token, inside))
        if token[0].isdigit():
            return ("number", token)
        if token.isalpha():
            return ("name", token)
        return ("sign", token)


def _stands_alone(parts: list[Tree], n: int) -> bool:
    return not 0 <= n < len(parts) or (parts[n][0] == "sign" and parts[n][1] in RELATIONS)


def _fractions(parts: list[Tree]) -> list[Tree]:
    """Quotients of which both sides are one factor, with nothing beside it that might belong to them."""
    out: list[Tree] = []
    n = 0
    while n < len(parts):
        is_quotient = parts[n] == ("sign", "/") and out and n + 1 < len(parts)
        if is_quotient and _stands_alone(parts, n + 2) and _stands_alone(out, len(out) - 2):
            top, bottom = out[-1], parts[n + 1]
            if top[0] != "sign" and bottom[0] != "sign" and _is_plain(top) and _is_plain(bottom):
                out[-1] = ("over", (top, bottom))
                n += 2
                continue
        out.append(parts[n])
        n += 1
    return out


def _is_plain(part: Tree) -> bool:
    return part[0] != "name" or len(part[1]) == 1 or part[1] in GREEK


def _shown(part: Tree, *, bare: bool = False) -> str:
    kind, value = part
    if kind == "number":
        return f"<mn>{value}</mn>"
    if kind == "sign":
        return f"<mo>{escape(SIGNS.get(value, value))}</mo>"
    if kind == "name":
        if value in GREEK:
            return f"<mi>{GREEK[value]}</mi>"
        if len(value) == 1 or value in FUNCTIONS:
            return f"<mi>{value}</mi>"
        return f"<mtext>&nbsp;{value}&nbsp;</mtext>"
    if kind == "row":
        return f"<mrow>{_beside(value)}</mrow>"
    if kind == "group":
        sign, inside = value
        body = _beside(inside)
        return (
            f"<mrow>{body}</mrow>" if bare else f"<mrow><mo>{sign}</mo>{body}<mo>{CLOSE[OPEN.index(sign)]}</mo></mrow>"
        )
    first, second = value
    if kind == "call":
        if first[1] == "sqrt":
            return f"<msqrt>{_shown(second, bare=True)}</msqrt>"
        return f"<mrow>{_shown(first)}<mo>&#x2061;</mo>{_shown(second)}</mrow>"
    tag = {"up": "msup", "down": "msub", "over": "mfrac"}[kind]
    return f"<{tag}>{_shown(first, bare=kind == 'over')}{_shown(second, bare=True)}</{tag}>"


def _is_function(part: Tree) -> bool:
    name = part[1][0] if part[0] in ("call", "up", "down") else part
    return name[0] == "name" and name[1] in FUNCTIONS and name[1] != "sqrt"


def _beside(parts: list[Tree]) -> str:
    """Parts in a row, with a thin space on either side of a function's name: k max, log V."""
    out = ""
    for n, part in enumerate(parts):
        after = n > 0 and parts[n - 1][0] != "sign"
        named = n > 0 and _is_function(parts[n - 1]) and parts[n - 1][0] != "call"
        out += '<mspace width=".17em"/>' if after and (named or _is_function(part)) else ""
        out += _shown(part)
    return out


def mathml(text: str) -> str:
    """One formula; what wide gaps separate in it may go to a line of its own.

    >>> mathml("1/4")
    '<math display="block" alttext="1/4"><mfrac><mn>1</mn><mn>4</mn></mfrac></math>'
    """
    return "".join(
        f'<math display="block" alttext="{escape(piece)}">{_beside(_Reader(piece).row())}</math>'
        for piece in re.split(r" {3,}", text.strip())
    )


def formulas(block: str) -> str | None:
    """A block of lines, each a formula or its continuation; None where it is something else."""
    lines, out, rest = [line.strip() for line in block.split("\n") if line.strip()], [], ""
    if not re.search(r"=|<|>", block) or re.search(r">>>|\$ |[@\\]", block):
        return None
    for line in lines:
        rest = f"{rest} {line}".strip()
        if rest.count("(") + rest.count("{") > rest.count(")") + rest.count("}"):
            continue
        try:
            out.append(f"<div>{mathml(rest)}</div>")
        except NotAFormula:
            continue
        rest = ""
    return None if rest else f'<div class="formula">{"".join(out)}</div>'


_BLOCK = re.compile(r"(?<=\n\n)((?: {4}(?! {4}).*\n| {4,}.*\n)+)(?=\n|$)")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def typeset(markdown: str) -> str:
    """The page with its formulas typeset; code in fences is not touched."""
    pieces, last = [], 0
    for fence in _FENCE.finditer(markdown):
        pieces += [_typeset(markdown[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*pieces, _typeset(markdown[last:])])


def _typeset(text: str) -> str:
    return _BLOCK.sub(lambda found: f"{formulas(found[1])}\n" if formulas(found[1]) else found[1], text)


_LEFT = re.compile(
    r"`[^`\n]*`|\]\([^)]*\)|</?[a-zA-Z][^<>\n]*>|^ {4}[^\n]*$|^```.*?^```$|\*\*|https?://\S+", re.DOTALL | re.MULTILINE
)
_NAME = re.compile(rf"\b({'|'.join(sorted(set(GREEK) - {'inf'}, key=len, reverse=True))})(?=\b|_|\d)")
_RAISED = re.compile(r"(?<=[\w)\]>])\^(?:\{([^{}]*)\}|(-?\w+))")
_LOWERED = re.compile(r"(?<=[A-Za-z\u0370-\u03ff])_(?:\{([^{}]*)\}|([A-Za-z0-9]))(?!\w)")


def inline(markdown: str) -> str:
    """Greek letters, powers, indices and comparisons in the running text; code, links and blocks are not touched.

    >>> inline("rho = epsilon + e^-epsilon - 1 <= x_0^{2s}, see [rho](rho.md) and `rho`")
    'ρ = ε + e<sup>-ε</sup> - 1 ≤ x<sub>0</sub><sup>2s</sup>, see [ρ](rho.md) and `rho`'
    >>> inline("rho <= 1 and alpha >= 2")
    'ρ ≤ 1 and α ≥ 2'
    """
    pieces, last = [], 0
    for kept in _LEFT.finditer(markdown):
        pieces += [_inline(markdown[last : kept.start()]), kept[0]]
        last = kept.end()
    return "".join([*pieces, _inline(markdown[last:])])


def _inline(text: str) -> str:
    text = text.replace("<=", "≤").replace(">=", "≥").replace("->", "→")
    text = _NAME.sub(lambda found: GREEK[found[1]], text)
    text = _LOWERED.sub(lambda found: f"<sub>{found[1] or found[2]}</sub>", text)
    return _RAISED.sub(lambda found: f"<sup>{found[1] or found[2]}</sup>", text)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """What mkdocs calls for each page: those of theorems are typeset, on others what is indented is code."""
    return inline(typeset(markdown)) if page.file.src_uri.startswith("theorems/") else markdown


if __name__ == "__main__":
    print(mathml(" ".join(sys.argv[1:])))
