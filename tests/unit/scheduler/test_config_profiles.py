"""`pyroclast config check --scheduler-name`: profiles that no name reaches, and names without a profile."""

from pathlib import Path

import pytest

from pyroclast.scheduler.cli.commands.config import main

PLUGINS = "tiers: [{plugins: [{name: gang}, {name: predicates}]}]\n"
TEXT = f"{PLUGINS}profiles:\n- schedulerName: a\n  actions: allocate\n- schedulerName: b\n  actions: allocate\n"


@pytest.mark.parametrize(
    ("names", "status", "message"),
    [
        (["a", "b"], 0, ""),
        (["a"], 0, "warning: profiles: no --scheduler-name is 'b', so this profile schedules no pod"),
        (["a", "c"], 1, "fault: profiles: none for the scheduler name 'c'"),
    ],
)
def test_profiles_are_compared_with_the_names(
    names: list[str], status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `--scheduler-name` the check does not know which profiles are served."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(TEXT)
    flags = [f"--scheduler-name={name}" for name in names]

    assert main(["check", str(file), *flags]) == status
    text = capsys.readouterr().out
    assert message in text
    assert ("schedules no pod" in text) == ("schedules no pod" in message)
    assert main(["check", str(file)]) == 0
    assert main(["check", str(file), "--strict", *flags]) == int(bool(message))


def test_the_top_of_a_file_can_be_unreachable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Actions at the top make a profile for all other names."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(f"actions: allocate\n{TEXT}")
    main(["check", str(file), "--scheduler-name=a", "--scheduler-name=b"])

    assert "the top of the file is the profile of no --scheduler-name" in capsys.readouterr().out
