"""Every flag of the controllers stands in docs/controllers/flags.md with its default, and every controller's name."""

from pathlib import Path

from pyroclast.scheduler.cli.commands.processes import shown_default
from pyroclast.scheduler.cli.flags import flags_of
from pyroclast.scheduler.controllers.options import WITHOUT_EFFECT, Options
from pyroclast.scheduler.controllers.table import CONTROLLERS, NOT_HERE
from tests.contract.tables import rows

PAGE = Path(__file__).parents[2] / "docs" / "controllers" / "flags.md"


def test_every_flag_is_documented_with_its_default_and_help() -> None:
    """The page says what --help says."""
    assert rows(PAGE, "Flags") == {
        f"--{name}": (shown_default(flag.default, flag.kind), flag.help) for name, flag in flags_of(Options).items()
    }


def test_every_flag_without_effect_is_documented_with_the_reason() -> None:
    """Users who come from Volcano find why a flag has no effect."""
    assert rows(PAGE, "Flags without effect") == {f"--{name}": (why,) for name, (_, why) in WITHOUT_EFFECT.items()}


def test_every_controller_is_named() -> None:
    """With what it does, or why it does nothing here."""
    documented = rows(PAGE, "Controllers")

    assert documented.keys() == {*CONTROLLERS, *NOT_HERE}
    assert {name: documented[name][0] for name in NOT_HERE} == {
        name: f"not here: {why}" for name, why in NOT_HERE.items()
    }
