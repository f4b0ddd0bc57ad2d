"""`pyroclast completion SHELL`: a script that completes commands, flags and names.

The script calls `pyroclast completion words` at each completion, so it always knows the commands of the program.
"""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from pyroclast.model.errors import PyroclastError
from pyroclast.scheduler.cli.commands.vcctl import job_parser, queue_parser
from pyroclast.scheduler.cli.commands.vcctl.flags import print_line, program
from pyroclast.scheduler.cli.commands.vcctl.list_parsers import quota_parser, reservation_parser

__all__ = ["SCRIPTS", "candidates", "kubectl", "main"]

SCRIPTS: Final = {
    "bash": """\
_pyroclast() {
  local IFS=$'\\n'
  COMPREPLY=($(pyroclast completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _pyroclast pyroclast
""",
    "zsh": """\
#compdef pyroclast
_pyroclast() {
  local -a found
  found=("${(@f)$(pyroclast completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
compdef _pyroclast pyroclast
""",
    "fish": """\
function __pyroclast
    pyroclast completion words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c pyroclast -a '(__pyroclast)'
""",
}
"""The completion script of each shell."""

_PARSERS: Final = {
    "queue": queue_parser.parser,
    "job": job_parser.parser,
    "quota": quota_parser,
    "reservation": reservation_parser,
}


def candidates(words: Sequence[str], commands: Iterable[str]) -> list[str]:
    """Return the possible completions of the last word.

    Args:
        words: The words after the program's name; the last word may be empty.
        commands: Names of all commands.
    """
    *before, last = words or [""]
    return sorted({word for word in _possible(before, last, commands) if word.startswith(last)})


def _possible(before: Sequence[str], last: str, commands: Iterable[str]) -> Iterable[str]:
    if not before:
        return commands
    if before[0] not in _PARSERS:
        return ()
    actions = _actions(_PARSERS[before[0]]())
    if len(before) == 1:
        return actions
    one = actions.get(before[1])
    if one is None:
        return ()
    if last.startswith("-"):
        return [name for action in one._actions for name in action.option_strings if name.startswith("--")]  # noqa: SLF001 - argparse has no public list
    waiting = _option(one, before[-1])
    if waiting is not None and waiting.nargs != 0:
        return [str(choice) for choice in waiting.choices or ()]
    return _names(one, before[2:], before[0])


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the subparsers of a parser."""
    return {
        name: one
        for action in parser._actions  # noqa: SLF001 - as above
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - as above
        for name, one in action.choices.items()
    }


def _option(one: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    return next((action for action in one._actions if word in action.option_strings), None)  # noqa: SLF001 - as above


def _names(one: argparse.ArgumentParser, typed: Sequence[str], kind: str) -> Sequence[str]:
    """List names from the cluster. Errors are suppressed: a completion must not print them."""
    # Imported only for names: the API client takes a second to import.
    from pyroclast.scheduler.cli.commands.vcctl.object_names import names  # noqa: PLC0415 - see above

    with contextlib.suppress(PyroclastError, TimeoutError, SystemExit), contextlib.redirect_stderr(None):
        return names(one.parse_args(list(typed)), kind)
    return []


def main(arguments: Sequence[str]) -> int:
    """Print a script, or the words that complete a command line."""
    # Imported here because of the circle: `main` imports this module by name to run the command.
    from pyroclast.scheduler.cli.main import COMMANDS  # noqa: PLC0415 - see above

    if arguments[:1] == ["words"]:
        for word in candidates(arguments[1:], COMMANDS):
            print_line(word)
        return 0
    parser = argparse.ArgumentParser(
        prog=f"{program()} completion", description="Print a script that completes commands, flags and names."
    )
    parser.add_argument("shell", choices=[*SCRIPTS], help="shell that reads the script")
    print_line(SCRIPTS[parser.parse_args(arguments).shell])
    return 0


def kubectl() -> int:
    """Complete `kubectl pyroclast`. kubectl runs this under its own name, and reads a directive from the last line."""
    status = main(["words", *sys.argv[1:]])
    print_line(":4")  # no file names
    return status
