"""`docs/reference/commands.md` names what people may type: every action and every flag, and no other."""

import argparse
import re
from pathlib import Path

import pytest

from pyroclast.scheduler.cli.commands.vcctl import job_parser, queue_parser

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
OURS = PAGE.partition("## Differences from vcctl")[0]
PARSERS = {"queue": queue_parser.parser, "job": job_parser.parser}
NOT_WORTH_A_WORD = {"--help"}


def actions(kind: str) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each action on a kind."""
    return {
        name: one
        for action in PARSERS[kind]()._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, one in action.choices.items()
    }


@pytest.mark.parametrize("kind", PARSERS)
def test_actions(kind: str) -> None:
    """The page has a row for each action, and rows for no other."""
    assert set(re.findall(rf"`{kind} ([a-z]+)\b", OURS)) == set(actions(kind))


def test_flags() -> None:
    """Every long flag of any action stands on the page, and the page has no flag that is not there."""
    flags = {
        name
        for kind in PARSERS
        for one in actions(kind).values()
        for action in one._actions
        for name in action.option_strings
        if name.startswith("--")
    }
    said = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", OURS))

    assert said == flags - NOT_WORTH_A_WORD
