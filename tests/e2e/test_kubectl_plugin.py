"""`kubectl pyroclast`: our commands as a plugin of kubectl, on the emulator and on a real server alike."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cluster import KUBECTL, KUBECTL_SECONDS, Cluster

PLUGIN = f"""#!{sys.executable}
import sys

sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pyroclast.scheduler.cli.main import main

sys.exit(main())
"""
"""What an installation puts on the path, for this checkout."""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder with the plugin."""
    script = tmp_path / "kubectl-pyroclast"
    script.write_text(PLUGIN)
    script.chmod(0o755)
    return tmp_path


def pyroclast(cluster: Cluster, plugins: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `kubectl pyroclast …`."""
    return subprocess.run(
        [KUBECTL, "pyroclast", *words],
        capture_output=True,
        text=True,
        timeout=KUBECTL_SECONDS,
        check=False,
        env={
            "PATH": f"{plugins}{os.pathsep}{os.environ.get('PATH', '')}",
            "HOME": str(plugins),
            "KUBECONFIG": str(cluster.kubeconfig),
        },
    )


def test_a_queue_from_making_to_deleting(cluster_with_crds: Cluster, plugins: Path) -> None:
    """It is made, shown, asked to close, and deleted."""
    name = "queue.scheduling.volcano.sh/people"

    made = pyroclast(cluster_with_crds, plugins, "queue", "create", "people", "--weight", "3")
    shown = pyroclast(cluster_with_crds, plugins, "queue", "get", "people")
    closed = pyroclast(cluster_with_crds, plugins, "queue", "close", "people")
    commands = json.loads(cluster_with_crds.kubectl("get", "commands", "-n", "default", "-o", "json"))["items"]
    gone = pyroclast(cluster_with_crds, plugins, "queue", "delete", "people")

    assert made.stdout == f"{name} created\n", made.stderr
    assert shown.stdout.splitlines()[1].split()[:3] == ["people", "3", "Open"]
    assert closed.stdout == f"{name} close requested\n"
    assert [each["action"] for each in commands if each.get("target", {}).get("name") == "people"] == ["CloseQueue"]
    assert gone.stdout == 'queue.scheduling.volcano.sh "people" deleted\n'


def test_a_job_from_running_to_deleting(cluster_with_crds: Cluster, plugins: Path) -> None:
    """What the flags make is a sound job to both servers."""
    made = pyroclast(cluster_with_crds, plugins, "job", "run", "people", "-r", "2", "-o", "json")
    viewed = pyroclast(cluster_with_crds, plugins, "job", "view", "people")
    gone = pyroclast(cluster_with_crds, plugins, "job", "delete", "people")

    assert json.loads(made.stdout)["spec"]["tasks"][0]["replicas"] == 2, made.stderr
    assert "Name:           people" in viewed.stdout
    assert gone.stdout == 'job.batch.volcano.sh "people" deleted\n'


def test_refusals_are_kubectls(cluster_with_crds: Cluster, plugins: Path) -> None:
    """The same fault has the same words in kubectl and in the product."""
    ours = pyroclast(cluster_with_crds, plugins, "queue", "get", "nobody")
    theirs = subprocess.run(
        [KUBECTL, "--kubeconfig", cluster_with_crds.kubeconfig, "get", "queue.scheduling.volcano.sh", "nobody"],
        capture_output=True,
        text=True,
        timeout=KUBECTL_SECONDS,
        check=False,
    )

    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)
