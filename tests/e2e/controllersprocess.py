"""The controllers as a test meets them: a process with probes and metrics."""

import os
import signal
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import PATIENCE
from tests.e2e.ports import free_ports
from tests.e2e.probes import answers_ok
from tests.e2e.processes import ServerProcess, wait_until

__all__ = ["Controllers", "controllers"]


class Controllers:
    """One process of controllers, on ports of its own."""

    def __init__(
        self, cluster: Cluster, folder: Path, *flags: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it; its log goes to `folder`, and it sees `environment` beside the variables of the tests."""
        self.health_port, self.metrics_port = free_ports(2)
        self.process = ServerProcess.of_module(
            *("pyroclast.scheduler", "controllers"),
            f"--kubeconfig={cluster.kubeconfig}",
            "--enable-healthz",
            f"--healthz-address=127.0.0.1:{self.health_port}",
            "--enable-metrics",
            f"--listen-address=127.0.0.1:{self.metrics_port}",
            *flags,
            log=folder / f"controllers-{self.health_port}.log",
            environment=environment,
        )

    def is_ready(self) -> bool:
        """Whether `/readyz` says so."""
        return answers_ok(f"http://127.0.0.1:{self.health_port}/readyz")

    def wait_for(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait for something, while it lives."""
        wait_until(condition, of=self.process, seconds=seconds)

    def said(self, event: str) -> bool:
        """Whether its log has an event."""
        return self.process.has_logged(f'"event": "{event}"')

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)

    def metrics(self) -> str:
        """Ask for the metrics."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30.0) as answer:
            text: str = answer.read().decode()
            return text


@contextmanager
def controllers(
    cluster: Cluster, folder: Path, *flags: str, environment: Mapping[str, str] | None = None
) -> Iterator[Controllers]:
    """Run controllers for the length of a block; without flags about a lease they take none."""
    alone = () if any(flag.startswith("--leader-elect") for flag in flags) else ("--leader-elect=false",)
    made = Controllers(cluster, folder, *alone, *flags, environment=environment)
    try:
        made.wait_for(made.is_ready)
        yield made
    finally:
        made.process.stop()
