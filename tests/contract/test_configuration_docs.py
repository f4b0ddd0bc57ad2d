"""The page on the configuration and the parser say the same."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.configuration import FLAGS, Parsed, parse
from pyroclast.framework.diagnosis.lint import Severity, check
from pyroclast.framework.diagnosis.lint.arguments import WITHOUT_EFFECT
from pyroclast.framework.extension.contract import ALL_POINTS
from pyroclast.framework.extension.served import SERVED

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "configuration.md").read_text()
ACTIONS = ["allocate", "backfill", "enqueue", "gangpreempt", "gangreclaim", "preempt", "reclaim", "shuffle"]


def examples() -> list[str]:
    """The configurations on the page: YAML blocks with actions."""
    return [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "actions:" in block]


def read(text: str | Mapping[str, Any]) -> Parsed:
    """Parse with every plugin known."""
    return parse(text, known_plugins=SERVED, known_actions=ACTIONS)


def test_the_table_of_flags_is_that_of_the_parser() -> None:
    """Every flag, in order, with its default."""
    rows = re.findall(r"^\| `(enabled?[A-Z]\w+)` \|.*\| (on|\*\*off\*\*) \|$", PAGE, re.MULTILINE)

    assert [(flag, default == "on") for flag, default in rows] == list(FLAGS.items())


def test_each_flag_is_listed_with_its_points() -> None:
    """All of them, in words."""
    rows = dict(re.findall(r"^\| `(enabled?[A-Z]\w+)` \| (.*?) \|", PAGE, re.MULTILINE))
    gated = {(point.flag, point.name.replace("_", " ")) for point in ALL_POINTS if point.flag is not None}

    assert [(flag, point) for flag, point in sorted(gated) if point not in rows[flag].replace("-", " ")] == []


def test_every_action_is_named() -> None:
    """In the list of actions."""
    (line,) = re.findall(r"^Actions: (.*)\.$", PAGE, re.MULTILINE)

    assert sorted(re.findall(r"`(\w+)`", line)) == ACTIONS


@pytest.mark.parametrize("text", examples())
def test_the_examples_are_sound(text: str) -> None:
    """No fault, no warning; a note may explain."""
    assert [finding for finding in check(text, read) if finding.severity is not Severity.NOTE] == []


def test_arguments_that_pages_call_without_effect_are_those_of_the_lint() -> None:
    """A row of a table of arguments that says `no effect`, in the pages of actions and plugins."""
    told = {
        (page.stem, key)
        for folder in ("actions", "plugins")
        for page in (DOCS / folder).glob("*.md")
        for key in re.findall(r"^\| `([\w.]+)` \|.*\| (?:accepted, )?no effect[:,]", page.read_text(), re.MULTILINE)
    }

    assert told == {(owner, key) for owner, keys in WITHOUT_EFFECT.items() for key in keys}


def test_there_are_examples() -> None:
    """One of the usual form, one of profiles."""
    assert len(examples()) == 2
