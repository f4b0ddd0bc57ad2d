"""Every flag, feature gate and environment variable stands in docs/flags.md with its default."""

from pathlib import Path

from pyroclast.scheduler.cli.commands.processes import shown_default
from pyroclast.scheduler.cli.features import GATES
from pyroclast.scheduler.cli.flags import flags_of
from pyroclast.scheduler.cli.options import WITHOUT_EFFECT, Options
from tests.contract.tables import rows

PAGE = Path(__file__).parents[2] / "docs" / "flags.md"


def test_every_flag_is_documented_with_its_default_and_help() -> None:
    """The page says what --help says."""
    flags = flags_of(Options)

    assert rows(PAGE, "Flags") == {
        f"--{name}": (shown_default(flag.default, flag.kind), flag.help) for name, flag in flags.items()
    }


def test_every_flag_without_effect_is_documented_with_the_reason() -> None:
    """Users who come from Volcano find why a flag has no effect."""
    assert rows(PAGE, "Flags without effect") == {f"--{name}": (why,) for name, (_, why) in WITHOUT_EFFECT.items()}


def test_every_gate_is_documented() -> None:
    """Stage, default and what it switches."""
    assert rows(PAGE, "Feature gates") == {
        name: (gate.stage, "on" if gate.default else "off", gate.about) for name, gate in GATES.items()
    }
