"""Every flag of the controllers stands in docs/controllers/flags.md with its default, and every controller's name."""

import re
from pathlib import Path

from scheduler.commands.processes import shown_default
from scheduler.controllers.options import WITHOUT_EFFECT, Options
from scheduler.controllers.table import CONTROLLERS, NOT_HERE
from scheduler.flags import flags_of

PAGE = Path(__file__).parents[2] / "docs" / "controllers" / "flags.md"


def rows(part: str) -> dict[str, tuple[str, ...]]:
    """Read the table under a heading: its cells by the first one, back-quotes taken off."""
    text = PAGE.read_text().split(f"## {part}\n", 1)[1].split("\n## ", 1)[0]
    cells = [tuple(unquoted(cell) for cell in line.strip("|").split(" | ")) for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells if len(row) > 1 and not re.fullmatch("[-|]*|name|flag", row[0])}


def unquoted(cell: str) -> str:
    """Take back-quotes off a cell that is one piece of code."""
    return re.sub(r"^`([^`]*)`$", r"\1", cell.strip())


def test_every_flag_is_documented_with_its_default_and_help() -> None:
    """The page says what --help says."""
    assert rows("Flags") == {
        f"--{name}": (shown_default(flag.default, flag.kind), flag.help) for name, flag in flags_of(Options).items()
    }


def test_every_flag_without_effect_is_documented_with_the_reason() -> None:
    """Somebody who comes from Volcano finds why a flag does nothing."""
    assert rows("Flags without effect") == {f"--{name}": (why,) for name, (_, why) in WITHOUT_EFFECT.items()}


def test_every_controller_is_named() -> None:
    """With what it does, or why it does nothing here."""
    documented = rows("Controllers")

    assert documented.keys() == {*CONTROLLERS, *NOT_HERE}
    assert {name: documented[name][0] for name in NOT_HERE} == {
        name: f"not here: {why}" for name, why in NOT_HERE.items()
    }
