"""`pyroclast emulator`: faults are reported in words."""

import socket
from pathlib import Path

import pytest

from pyroclast.scheduler.cli.main import main


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the command, which must refuse, and return what it says."""
    assert main(["emulator", "--bare", *arguments]) == 2
    return capsys.readouterr().err


def test_a_port_in_use_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """With the flag to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = told(capsys, "--port", str(taken.getsockname()[1]))

    assert said.startswith("pyroclast: emulator: --host, --port: ")
    assert "in use" in said


def test_an_invalid_certificate_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Absent, or without a key."""
    file = tmp_path / "server.pem"
    assert f"--certificate: {file}: No such file or directory" in told(capsys, "--certificate", str(file))

    file.write_text("no PEM")
    assert f"--certificate: {file}: no certificate with its key" in told(capsys, "--certificate", str(file))


def test_an_unwritable_kubeconfig_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder is not there."""
    assert "--kubeconfig: " in told(capsys, "--kubeconfig", str(tmp_path / "absent" / "kubeconfig"))


@pytest.mark.parametrize(
    ("flag", "value", "why"),
    [
        ("--port", "99999", "expected less than 65536"),
        ("--port", "http", "expected a whole number"),
        ("--history", "-1", "expected at least 0"),
        ("--hollow-nodes", "-3", "expected at least 0"),
    ],
)
def test_impossible_numbers_are_reported(flag: str, value: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is started."""
    with pytest.raises(SystemExit):
        main(["emulator", flag, value])
    assert why in capsys.readouterr().err
