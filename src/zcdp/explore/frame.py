"""The frame of every area: navigation, places for what is said and for progress; and the fixed parts of Plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zcdp.report.charts import escape
from zcdp.text.numbers import at_least

__all__ = ["AREAS", "certified", "frame", "listed_commands", "plan_area", "tidy"]

AREAS = {"plan": "Plan", "understand": "Understand", "train": "Train", "budget": "Budget"}


def tidy(number: str) -> str:
    """1e-06 as people write it, 1e-6."""
    return re.sub(r"e([+-])0+(\d)", r"e\1\2", number).replace("e+", "e")


def certified(low: float, high: float) -> str:
    """What is known of a guarantee: always that it is none too small, and how much too large it may be.

    >>> certified(1.0, 1.5), certified(0.0, 1.5)
    ('certified: never below the truth, which is at least 1', 'certified: never below the truth')
    """
    told = "certified: never below the truth"
    if high <= low * (1 + 1e-6):
        return f"{told}, and exact"
    return f"{told}, which is at least {at_least(low)}" if low else told


def frame(area: str, body: str, *, title: str, areas: Sequence[str]) -> str:
    """The page of an area around its body; scripts and styles are files of this server."""
    links = "".join(
        f'<a href="{name}"{" aria-current=page" if name == area else ""}>{AREAS[name]}</a>' for name in areas
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="static/explore.css">'
        f'<script src="static/explore.js" defer></script></head>\n<body class="explore" data-area="{escape(area)}">\n'
        '<a class="skip" href="#main">To the content</a>\n'
        f'<header class="top"><span class="brand">zcdp</span><nav aria-label="Areas">{links}</nav></header>\n'
        '<main id="main" tabindex="-1">\n<p class="verdict bad" id="page-problem" role="alert" hidden></p>\n'
        f'{body}<div id="progress" hidden><div class="meter"><span></span></div><p></p></div>\n</main>\n'
        '<p id="said" class="hidden" role="status" aria-live="polite"></p>\n'
        '<noscript><p class="verdict bad">This page needs JavaScript, of this machine alone.</p></noscript>\n'
        "</body></html>\n"
    )


MEANING = (
    '<details id="meaning"><summary>What \u03b5, \u03b4 and \u03c1 mean</summary>'
    "<p><strong>\u03b5</strong> (epsilon) and <strong>\u03b4</strong> (delta) bound what all results together tell of "
    "one person: change that person's data, and the probability of any set of results changes from P to at most "
    "e<sup>\u03b5</sup> P + \u03b4. One chooses \u03b4, far below one in the number of persons; \u03b5 follows.</p>"
    "<p><strong>\u03c1</strong> (rho) is a unit that adds up, that of zero-concentrated differential privacy (zCDP): "
    "each query has its own, and the plan's is their sum. It bounds \u03b5 at every \u03b4; the \u03b5 here is "
    "computed from the whole loss of each query, and is at most that. Epsilons of queries do not add up: whether "
    "another fits into what is left shows when it is added as a row.</p>"
    '<p><a href="understand">What an attacker could do with it, in pictures</a></p></details>'
)


def listed_commands(commands: Sequence[tuple[str, str]]) -> str:
    """What each command does, the command, and a button that copies it."""
    return "".join(
        f'<li><span class="label">{escape(what)}</span><code id="command-{n}">{escape(command)}</code>'
        f'<button type="button" class="quiet" data-copy="command-{n}">Copy'
        f'<span class="hidden"> the command: {escape(what)}</span></button></li>'
        for n, (what, command) in enumerate(commands)
    )


def plan_area(commands: Sequence[tuple[str, str]], *, file: str, named: bool) -> str:
    """The fixed parts of Plan; rows and numbers come as soon as they are computed."""
    new = (
        ""
        if named
        else '<span class="field save-name"><label for="save-name">File name</label>'
        f'<input id="save-name" value="{escape(file)}" size="16" autocomplete="off" spellcheck="false"></span>'
    )
    return (
        '<div class="title"><div id="heading"><h1>Reading the plan\u2026</h1></div>'
        f'<div class="file"><p tabindex="-1"><span id="file">{escape(file)}</span> '
        '<span id="state" class="soft"></span></p>'
        '<div class="actions" role="group" aria-label="This plan">'
        '<button type="button" data-do="undo" disabled>Undo</button>'
        '<button type="button" data-do="redo" disabled>Redo</button>'
        f'{new}<button type="button" class="main" data-do="save" disabled>Save</button></div>'
        '<p class="problem" id="save-problem" role="alert" hidden></p></div></div>\n'
        '<div class="work">\n<section class="sheet" aria-labelledby="queries-title">'
        '<h2 id="queries-title">Queries</h2>'
        '<p class="soft">Slide to the right for more noise: more privacy, less accuracy. Or type the accuracy that you '
        "need: the standard deviation, or how far 95 of 100 answers may be off.</p>"
        '<ol id="rows" class="rows"></ol>'
        '<div class="below"><button type="button" data-do="add">Add a query</button>'
        '<p class="problem" id="add-problem" role="alert" hidden></p><p class="soft" id="removed" role="status"></p>'
        "</div></section>\n"
        '<section class="cost" aria-labelledby="cost-title"><h2 id="cost-title">What it costs</h2>'
        '<p class="verdict bad" id="left-out" hidden></p><div id="summary" aria-busy="true"></div>'
        '<p class="soft" id="was" hidden></p>'
        f"{MEANING}"
        '<div class="controls budget-fields"><div class="field"><label for="budget-kind">Budget on</label>'
        '<select id="budget-kind"><option value="rho">\u03c1</option><option value="epsilon">\u03b5</option></select>'
        "</div>"
        '<div class="field"><label for="budget-limit">at most</label>'
        '<input id="budget-limit" data-edit="budget" size="8" inputmode="decimal" autocomplete="off" '
        'aria-describedby="budget-limit-problem"><p class="problem" id="budget-limit-problem" hidden></p></div>'
        '<div class="field"><label for="delta">\u03b4 of \u03b5</label><input id="delta" data-edit="delta" size="8" '
        'inputmode="decimal" autocomplete="off" aria-describedby="delta-problem">'
        '<p class="problem" id="delta-problem" hidden></p></div></div>'
        '<div class="allocate"><div class="field"><label for="objective">Allocate for</label>'
        '<select id="objective"><option value="worst">errors in proportion to sensitivity</option>'
        '<option value="total">the least sum of squared errors</option></select></div>'
        '<button type="button" data-do="allocate">Allocate</button>'
        '<p class="problem" id="allocate-problem" role="alert" hidden></p>'
        '<p class="soft" id="allocate-words"></p><div id="allocated"></div>'
        "</div>"
        '<div id="curve" class="drawn"></div></section>\n</div>\n'
        '<div class="more"><div id="routes" class="drawn"></div><div id="points" class="drawn"></div></div>\n'
        '<section class="commands" aria-labelledby="commands-title"><h2 id="commands-title">On the command line</h2>'
        '<p class="soft">In the directory where zcdp explore was started. They read the file, as it was saved last.</p>'
        f'<ul id="commands">{listed_commands(commands)}</ul></section>\n<div id="strip" aria-hidden="true"></div>\n'
    )
