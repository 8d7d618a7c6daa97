"""`zcdp completion`: shell scripts that complete commands, options and files, generated from the parser."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction

from zcdp.cli.arguments import COMMANDS, arguments
from zcdp.cli.output import line, print_json

__all__ = ["run"]


BASH = """_zcdp() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
}}
complete -o default -F _zcdp zcdp"""

ZSH = """#compdef zcdp
_zcdp() {{
    if (( CURRENT == 2 )); then
        local -a commands=(
{described}
        )
        _describe command commands
        return
    fi
    case "$words[2]" in
{cases}
    esac
    _files
}}
if [ "$funcstack[1]" = "_zcdp" ]; then _zcdp "$@"; else compdef _zcdp zcdp; fi"""


def run(options: Namespace) -> int:
    """Print the script for the shell that was named."""
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]()
    if options.json:
        print_json({"shell": options.shell, "script": script})
    else:
        line(script)
    return 0


def _words() -> dict[str, list[str]]:
    """The words that may follow each command: its long options, and the choices of its arguments."""
    [commands] = [action for action in arguments()._actions if isinstance(action, _SubParsersAction)]
    found = {}
    for name, command in commands.choices.items():
        words = [option for action in command._actions for option in action.option_strings if option.startswith("--")]
        found[name] = words + [str(one) for action in command._actions for one in action.choices or ()]
    return found


def _bash() -> str:
    cases = "\n".join(f'            {name}) words="{" ".join(words)}" ;;' for name, words in _words().items())
    return BASH.format(commands=" ".join(COMMANDS), cases=cases)


def _zsh() -> str:
    cases = "\n".join(f"        {name}) compadd -- {' '.join(words)} ;;" for name, words in _words().items())
    described = "\n".join(f"            {_quoted(f'{name}:{COMMANDS[name][0]}')}" for name in COMMANDS)
    return ZSH.format(described=described, cases=cases)


def _fish() -> str:
    lines = [
        f"complete -c zcdp -n __fish_use_subcommand -f -a {name} -d {_quoted(COMMANDS[name][0])}" for name in COMMANDS
    ]
    for name, words in _words().items():
        here = f"complete -c zcdp -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{here} -l {word[2:]}" if word.startswith("--") else f"{here} -a {word}" for word in words]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
