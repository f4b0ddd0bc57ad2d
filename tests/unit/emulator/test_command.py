"""Command lines of the server and of hollow nodes: faults are reported in words, by every way to start."""

import socket
from pathlib import Path

import pytest

from pyroclast.emulator.__main__ import main as serve
from pyroclast.emulator.hollow.__main__ import main as keep_nodes
from pyroclast.emulator.hollow.__main__ import read as read_nodes
from pyroclast.emulator.hollow.__main__ import template_of


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Start the server, which must refuse, and return what it says."""
    assert serve(arguments) == 2
    return capsys.readouterr().err


def test_a_port_in_use_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """With the flag to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = told(capsys, f"--port={taken.getsockname()[1]}")

    assert said.startswith("emulator: --host, --port: ")
    assert "in use" in said


def test_unusable_files_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate that is absent or no PEM, a kubeconfig in no folder."""
    file = tmp_path / "server.pem"
    assert f"--certificate: {file}: No such file or directory" in told(capsys, f"--certificate={file}")

    file.write_text("no PEM")
    assert f"--certificate: {file}: no certificate with its key" in told(capsys, f"--certificate={file}")
    assert "--kubeconfig: " in told(capsys, f"--kubeconfig={tmp_path / 'absent' / 'kubeconfig'}")


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("--port=99999", "expected less than 65536"),
        ("--port=http", "expected a whole number"),
        ("--history=-1", "expected at least 0"),
    ],
)
def test_impossible_numbers_are_reported(flag: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is started."""
    with pytest.raises(SystemExit):
        serve([flag])

    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("--nodes=-1", "expected at least 0"),
        ("--cpu=many", "expected a quantity"),
        ("--resource=gpu", "expected KEY=VALUE"),
        ("--resource=gpu=x", "expected a quantity"),
        ("--label==x", "expected KEY=VALUE"),
        ("--taint=a=b:Never", "expected KEY=VALUE:EFFECT"),
        ("--start-seconds=-1", "expected seconds"),
        ("--heartbeat-seconds=inf", "expected seconds"),
    ],
)
def test_flags_of_hollow_nodes_are_checked(flag: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A server would refuse the node, again and again."""
    with pytest.raises(SystemExit):
        read_nodes([flag])

    assert why in capsys.readouterr().err


def test_flags_of_hollow_nodes_make_a_template() -> None:
    """Resources, labels, and taints with and without a value."""
    flags = ["--resource=nvidia.com/gpu=8", "--label=a=b", "--taint=k:NoExecute", "--taint=x=y:NoSchedule"]
    template = template_of(read_nodes(flags))

    assert (template.resources, template.labels) == ({"nvidia.com/gpu": "8"}, {"a": "b"})
    assert template.taints == (
        {"key": "k", "value": "", "effect": "NoExecute"},
        {"key": "x", "value": "y", "effect": "NoSchedule"},
    )


def test_a_missing_kubeconfig_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hollow nodes have no server then."""
    assert keep_nodes([f"--kubeconfig={tmp_path / 'absent'}"]) == 2
    assert "no such kubeconfig file" in capsys.readouterr().err
