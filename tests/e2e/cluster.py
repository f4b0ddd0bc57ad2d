"""A cluster as an end-to-end test sees it: an address, a kubeconfig, and `kubectl`."""

import os
import subprocess
import sysconfig
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cluster", "KubectlError"]

CRD_FOLDER = Path(__file__).parents[2] / "config" / "crd"

KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"
"""The kubectl of the development dependencies, so that every machine tests with the same one."""

KUBECTL_SECONDS = 120.0
"""Longest wait for one command; a test that waits for something gives kubectl a shorter `--timeout`."""


class KubectlError(RuntimeError):
    """A kubectl command failed; the message is what it wrote to standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """An API server that runs, and the way to it."""

    kind: str
    """`emulator` or `realserver`: for skips with a reason, never for softer assertions."""
    url: str
    """Address of the API server."""
    kubeconfig: Path
    """Kubeconfig of the administrator."""
    start_controllers: Callable[[], object]
    """See to garbage collection, namespace termination and disruption budgets from here on."""
    away: Callable[[], AbstractContextManager[None]]
    """For the length of a block the API server does not answer, though connections to it stay open."""
    gone: Callable[[], AbstractContextManager[None]]
    """For the length of a block there is none: connections break, new ones are refused. It comes back with what it had;
    an emulator, which has all in its memory, is only away."""
    audit_log: Path | None = None
    """Where a real server writes down what service accounts ask for, a JSON object a line."""

    def serve_custom_resources(self) -> None:
        """Apply every definition of `config/crd`, and wait until it is served."""
        self.kubectl("apply", "-f", str(CRD_FOLDER))
        self.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", str(CRD_FOLDER))

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 - named as in `subprocess`
        """Run one command and return what it printed.

        Args:
            arguments: The command line after `kubectl`.
            input: Text for standard input, as `-f -` reads it.

        Raises:
            KubectlError: The command failed.
        """
        finished = subprocess.run(
            [KUBECTL, "--kubeconfig", self.kubeconfig, "--cache-dir", self.kubeconfig.parent / "cache", *arguments],
            input=input,
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS,
            check=False,
            # Colours, editors and proxies of the person who runs the tests are not part of the test.
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(self.kubeconfig.parent)},
        )
        if finished.returncode != 0:
            raise KubectlError(finished.stderr.strip() or finished.stdout.strip())
        return finished.stdout

    def apply(self, manifest: str) -> str:
        """Apply YAML, of one document or many, and return what kubectl says of each object."""
        return self.kubectl("apply", "-f", "-", input=manifest)
