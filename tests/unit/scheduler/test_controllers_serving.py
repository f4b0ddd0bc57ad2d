"""The controllers' process from inside: faults at the start are reported in words, and it ends on SIGTERM."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from pyroclast.emulator.run import Emulator
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.controllers.options import parse_options
from pyroclast.scheduler.controllers.serve import serve
from pyroclast.scheduler.monitoring.logs import Level
from tests.e2e.ports import free_ports


async def test_it_stops_even_without_definitions(tmp_path: Path) -> None:
    """Absent kinds are empty: the controllers may be installed before the definitions."""
    async with Emulator(port=0) as emulator:
        kubeconfig = emulator.kubeconfig(tmp_path / "kubeconfig")
        options = parse_options([f"--kubeconfig={kubeconfig}", "--leader-elect=false"]).options
        with capture_logs() as lines:
            serving = asyncio.create_task(serve(options, Level(20)))
            async with asyncio.timeout(30):
                while not any(line["event"] == "reconciling" for line in lines):  # noqa: ASYNC110  a log has none
                    await asyncio.sleep(0.01)
                os.kill(os.getpid(), signal.SIGTERM)
                assert await serving == 0

    assert [line["event"] for line in lines if line["event"] in {"starting", "synced", "stopping", "stopped"}] == [
        "starting",
        "synced",
        "stopping",
        "stopped",
    ]


async def test_admission_is_answered_by_a_process_without_controllers(tmp_path: Path) -> None:
    """It holds no lease, and does not seem to reconcile: an alert fires when no process does."""
    async with Emulator(port=0) as emulator:
        kubeconfig = emulator.kubeconfig(tmp_path / "kubeconfig")
        (port,) = free_ports(1)
        flags = (
            *("--controllers=-*", "--leader-elect=false", "--enable-admission", "--admission-address=127.0.0.1:0"),
            *("--enable-metrics", f"--listen-address=127.0.0.1:{port}"),
        )
        options = parse_options([f"--kubeconfig={kubeconfig}", "--webhook-namespace=default", *flags]).options
        with capture_logs() as lines:
            serving = asyncio.create_task(serve(options, Level(20)))
            async with asyncio.timeout(30):
                while not any(line["event"] == "admission_serving" for line in lines):  # noqa: ASYNC110  a log has none
                    await asyncio.sleep(0.01)
                async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as reply:
                    metrics = await reply.text()
                os.kill(os.getpid(), signal.SIGTERM)
                assert await serving == 0

    assert options.chosen == []
    assert "pyroclast_admission_reviews_total" in metrics
    assert "pyroclast_controllers_leader" not in metrics


async def test_an_address_in_use_is_reported(tmp_path: Path) -> None:
    """As a fault of the command line, not as a traceback."""
    certificate, key = tmp_path / "cert", tmp_path / "key"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with Emulator(port=0) as emulator:
            kubeconfig = emulator.kubeconfig(tmp_path / "kubeconfig")
            for arguments in (
                ["--enable-healthz", f"--healthz-address={address}"],
                [
                    "--enable-admission",
                    f"--admission-tls-cert-file={certificate}",
                    f"--admission-tls-private-key-file={key}",
                ],
            ):
                options = parse_options([f"--kubeconfig={kubeconfig}", "--leader-elect=false", *arguments]).options
                with capture_logs(), pytest.raises(ConfigError):
                    await asyncio.wait_for(serve(options, Level(20)), 30)


async def test_its_verbosity_can_be_moved_and_its_watches_are_measured(tmp_path: Path) -> None:
    """Found by the socket that Volcano's tools know; a standby's watches count as well."""
    async with Emulator(port=0) as emulator:
        kubeconfig = emulator.kubeconfig(tmp_path / "kubeconfig")
        arguments = [f"--kubeconfig={kubeconfig}", "--leader-elect=false"]
        options = parse_options(arguments, {"DEBUG_SOCKET_DIR": str(tmp_path)}).options
        with capture_logs() as lines:
            serving = asyncio.create_task(serve(options, Level(20)))
            async with asyncio.timeout(30):
                while not any(line["event"] == "reconciling" for line in lines):  # noqa: ASYNC110  a log has none
                    await asyncio.sleep(0.01)
                async with (
                    aiohttp.UnixConnector(path=str(tmp_path / "klog-klog.sock")) as connector,
                    aiohttp.ClientSession(connector=connector) as session,
                    session.get("http://socket/getlevel") as answer,
                ):
                    level = await answer.text()
                lag = REGISTRY.get_sample_value("pyroclast_watch_lag_seconds", {"resource": "pods"})
                os.kill(os.getpid(), signal.SIGTERM)
                assert await serving == 0

    assert "0" in level
    assert lag is not None
    assert 0 <= lag < 20
    assert not (tmp_path / "klog-klog.sock").exists()
