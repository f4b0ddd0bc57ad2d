"""The command line: commands, help, exit statuses."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyroclast.scheduler.cli.features import GATES
from pyroclast.scheduler.cli.flags import flags_of
from pyroclast.scheduler.cli.main import COMMANDS, main
from pyroclast.scheduler.cli.options import WITHOUT_EFFECT, Options


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """--help shows what there is, in a column as wide as the longest name."""
    assert main(["--help"]) == 0

    lines = capsys.readouterr().out.splitlines()
    width = max(map(len, COMMANDS))
    assert all(f"  {name:<{width}} {command.about}" in lines for name, command in COMMANDS.items())


def test_no_command_shows_the_help_as_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """A bare `pyroclast` says how to use it, with the status of a wrong command line."""
    assert main([]) == 2
    assert "Usage" in capsys.readouterr().out


def test_a_reader_that_has_read_enough_is_no_fault() -> None:
    """`| head` closes the pipe; the command ends without a word, with the status that shells give SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pyroclast.scheduler", "completion", "bash"],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error is reported."""
    assert main(["simulat"]) == 2
    assert "did you mean 'simulate'?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["scheduler", "--version"]])
def test_version_is_printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """All ways to ask for the version answer."""
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("pyroclast ")


@contextmanager
def restored(*numbers: signal.Signals) -> Iterator[None]:
    """Give signals back what they did before."""
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def test_a_signal_to_the_daemon_before_it_runs_does_nothing() -> None:
    """Left alone it would end the process, while all is imported."""
    with restored(signal.SIGUSR1, signal.SIGUSR2):
        assert main(["scheduler", "--version"]) == 0

        assert signal.getsignal(signal.SIGUSR1) is signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN


def test_help_of_the_daemon_explains_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    """Flags, feature gates and flags without effect are all there."""
    assert main(["scheduler", "--help"]) == 0

    shown = capsys.readouterr().out
    assert all(f"--{name}" in shown for name in [*flags_of(Options), *WITHOUT_EFFECT])
    assert all(gate in shown for gate in GATES)


def test_every_fault_of_the_daemons_flags_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong command line ends with status 2 and a line for each fault."""
    assert main(["scheduler", "--nonsense", "--schedule-period=soon"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_good_configuration_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`config check` ends with 0 for a file that the scheduler takes."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enqueue, allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n")

    assert main(["config", "check", str(file)]) == 0
    assert "good" in capsys.readouterr().out


def test_a_configuration_with_warnings_is_not_called_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scheduler takes it, and something in it has no effect."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enqueue, allocate\nfoo: 1\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]\n")

    assert main(["config", "check", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{file}: accepted: 1 warning"


def test_misspelt_plugins_are_faults_of_a_checked_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scheduler would decide without them."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enqueue, allocate\ntiers: [{plugins: [{name: gagn}, {name: predicate}]}]\n")

    assert main(["config", "check", str(file)]) == 1
    shown = capsys.readouterr().out
    assert "fault: tiers[0].plugins[0].name: unknown plugin 'gagn', it is skipped (did you mean 'gang'?)" in shown
    assert shown.splitlines()[-1].startswith(f"{file}: refused: 2 faults")


def test_bad_configuration_is_reported_with_every_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`config check` ends with 1 and a line for each fault."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enque, alocate\n")

    assert main(["config", "check", str(file)]) == 1
    shown = capsys.readouterr().out
    assert "enque" in shown
    assert "alocate" in shown


def test_strict_and_lenient_checks_have_the_same_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings that a strict scheduler refuses are faults, and advice stands beside them."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enqueue, allocate\nfoo: bar\ntiers: [{plugins: [{name: gang}]}]\n")
    lenient = main(["config", "check", str(file)]), capsys.readouterr().out.splitlines()
    strict = main(["config", "check", "--strict", str(file)]), capsys.readouterr().out.splitlines()

    assert (lenient[0], strict[0]) == (0, 1)
    assert lenient[1][1].startswith("warning: actions: pods are placed without the plugin predicates: ")
    assert strict[1][:-1] == [lenient[1][0].replace("warning: ", "fault: "), *lenient[1][1:-1]]


def test_unreadable_configuration_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there is named."""
    assert main(["config", "check", str(tmp_path / "gone.yaml")]) == 1
    assert "gone.yaml" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["\\ud800", "ä€"])
def test_what_an_output_has_no_bytes_for_is_written_as_an_escape(tmp_path: Path, name: str) -> None:
    """Half of a character from a file, on a terminal that knows ASCII alone: no traceback."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(f'actions: allocate\ntiers:\n- plugins: [{{name: "{name}"}}]\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pyroclast.scheduler", "config", "check", str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )

    assert (done.stderr, "\\" in done.stdout) == ("", True)
    assert file.name in done.stdout.splitlines()[-1]
