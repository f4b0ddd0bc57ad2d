"""The daemon as a test meets it: a process with probes, metrics and a look inside."""

import json
import os
import signal
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster
from tests.e2e.ports import free_ports
from tests.e2e.probes import answers_ok
from tests.e2e.processes import ServerProcess, wait_until

__all__ = ["PATIENCE", "Daemon"]

PATIENCE = 60.0
"""Longest wait for anything; a second is usual, a machine that builds beside the tests takes many times that."""


class Daemon:
    """One scheduler process, on ports of its own."""

    def __init__(
        self, cluster: Cluster, folder: Path, *flags: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it.

        Args:
            cluster: What it schedules.
            folder: Where its log and its dumps go.
            flags: Its command line, beside the usual flags of tests.
            environment: Variables it sees beside those of the tests.
        """
        self.health_port, self.metrics_port = free_ports(2)
        self.process = ServerProcess.of_module(
            *("pyroclast.scheduler", "scheduler"),
            f"--kubeconfig={cluster.kubeconfig}",
            "--schedule-period=100ms",
            "--enable-healthz",
            f"--healthz-address=127.0.0.1:{self.health_port}",
            "--enable-metrics",
            "--enable-pprof",
            f"--listen-address=127.0.0.1:{self.metrics_port}",
            f"--cache-dump-dir={folder}",
            *flags,
            log=folder / f"scheduler-{self.health_port}.log",
            environment=environment,
        )

    @property
    def is_ready(self) -> bool:
        """Whether `/readyz` says so."""
        return answers_ok(f"http://127.0.0.1:{self.health_port}/readyz")

    def wait_ready(self) -> None:
        """Wait until it says that it is ready."""
        self.wait_for(lambda: self.is_ready)

    def wait_for(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait for something, while it lives."""
        wait_until(condition, of=self.process, seconds=seconds)

    def get(self, path: str) -> str:
        """Ask its second listener."""
        # No proxy of the environment stands before the loopback.
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=30.0) as answer:
            text: str = answer.read().decode()
            return text

    def get_json(self, path: str) -> Any:
        """Ask its second listener for JSON."""
        return json.loads(self.get(path))

    def metric(self, series: str) -> float | None:
        """Return the value of a series, as it is written."""
        for line in self.get("/metrics").splitlines():
            if line.startswith(f"{series} "):
                return float(line.rpartition(" ")[2])
        return None

    def wait_metric(self, series: str, value: float) -> None:
        """Wait until a series has a value: the API server shows what was done before the daemon counts it."""
        self.wait_for(lambda: self.metric(series) == value)

    def wait_logged(self, text: str) -> None:
        """Wait until the log contains a text: the API server shows what was done before the daemon logs it."""
        self.wait_for(lambda: self.process.has_logged(text))

    def cycles(self) -> float:
        """Return how many cycles it finished."""
        return self.metric('pyroclast_cycles_total{result="finished"}') or 0.0

    def wait_cycles(self, count: int) -> None:
        """Wait until it has begun and finished some cycles from now on."""
        # One may be under way now: it began on what was before.
        goal = self.cycles() + count + 1
        self.wait_for(lambda: self.cycles() >= goal)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)
