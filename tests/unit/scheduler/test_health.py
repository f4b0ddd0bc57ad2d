"""Endpoints: probes, metrics, looks inside; TLS; listeners that cannot be opened."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from prometheus_client import REGISTRY

from pyroclast.kube.api.reviews import Access, Reviews
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.monitoring.debug_endpoints import BusyError, looks
from pyroclast.scheduler.monitoring.debug_flags import DebugFlags, flag_handlers
from pyroclast.scheduler.monitoring.health import Endpoints, HealthSource
from pyroclast.scheduler.monitoring.metrics_auth import MountedCertificate


class Daemon:
    """What the endpoints look into, with answers that a test sets."""

    def __init__(self) -> None:
        """Start as a daemon that is not synced."""
        self.unsynced: str | None = "pods are listed"
        self.dying: str | None = None
        self.explanations: dict[str, Mapping[str, Any]] = {}
        self.examinations: dict[tuple[str, int], list[dict[str, Any]]] = {}
        self.is_busy = False
        self.flags = DebugFlags()
        self.verbosity = 0

    def inside(self) -> HealthSource:
        """Return the functions to be asked."""

        async def snapshot() -> bytes:
            return b'{"kind": "List"}'

        async def audit() -> list[str]:
            return ["jobs ns/a: 1, 2"]

        async def examine(name: str, nodes: int) -> list[dict[str, Any]] | None:
            if self.is_busy:
                raise BusyError
            return self.examinations.get((name, nodes))

        def set_verbosity(verbosity: int) -> None:
            self.verbosity = verbosity

        shown = looks(snapshot=snapshot, explain=self.explanations.get, examine=examine, audit=audit)
        read, changes = flag_handlers(self.flags, verbosity=lambda: self.verbosity, set_verbosity=set_verbosity)
        return HealthSource(
            checks={"synced": lambda: self.unsynced, "configured": lambda: None},
            vital={"background": lambda: self.dying},
            metrics_text=lambda: b"volcano_x 1\n",
            looks=shown | read,
            changes=changes,
        )


@pytest.fixture
def daemon() -> Daemon:
    """A daemon that has just started."""
    return Daemon()


@pytest.fixture
async def endpoints(daemon: Daemon) -> AsyncIterator[Endpoints]:
    """All endpoints of it, on free ports."""
    options = Options(
        enable_healthz=True,
        enable_metrics=True,
        listen_address="127.0.0.1:0",
        healthz_address="127.0.0.1:0",
    )
    served = Endpoints(options, daemon.inside())
    await served.start()
    yield served
    await served.stop()


async def get(endpoints: Endpoints, listener: str, path: str) -> tuple[int, str]:
    """Ask, and return status and text."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{endpoints.ports[listener]}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def test_process_is_alive_before_it_is_ready(endpoints: Endpoints) -> None:
    """While the lists come in, /healthz and /livez say yes and /readyz says what is missing."""
    assert await get(endpoints, "health", "/healthz") == (200, "ok")
    assert await get(endpoints, "health", "/livez") == (200, "ok")
    assert await get(endpoints, "health", "/readyz") == (
        503,
        "[+]background ok\n[-]synced failed: pods are listed\n[+]configured ok\nreadyz check failed\n",
    )


async def test_process_whose_background_work_dies_is_not_alive(endpoints: Endpoints, daemon: Daemon) -> None:
    """A fresh process is the remedy, so /livez and /healthz say why; such a process is not ready either."""
    daemon.unsynced, daemon.dying = None, "follow-pods fails repeatedly: KeyError: 'x'"
    verdict = "[-]background failed: follow-pods fails repeatedly: KeyError: 'x'\n"

    assert await get(endpoints, "health", "/livez") == (503, f"{verdict}livez check failed\n")
    assert await get(endpoints, "health", "/healthz") == (503, f"{verdict}livez check failed\n")
    assert (await get(endpoints, "health", "/readyz"))[0] == 503


async def test_process_is_ready_when_all_checks_hold(endpoints: Endpoints, daemon: Daemon) -> None:
    """Once nothing is missing, /readyz says yes."""
    daemon.unsynced = None

    assert await get(endpoints, "health", "/readyz") == (200, "ok")


async def test_metrics_and_snapshot_are_served(endpoints: Endpoints) -> None:
    """The second listener has metrics, the dump, and the differences that an audit finds."""
    assert await get(endpoints, "metrics", "/metrics") == (200, "volcano_x 1\n")
    assert (REGISTRY.get_sample_value("pyroclast_loop_tasks") or 0.0) >= 2  # who asked, and who answers
    assert await get(endpoints, "metrics", "/debug/snapshot") == (200, '{"kind": "List"}')
    assert await get(endpoints, "metrics", "/debug/audit") == (200, '{"differences": ["jobs ns/a: 1, 2"]}\n')


async def test_explain_answers_for_known_jobs_alone(endpoints: Endpoints, daemon: Daemon) -> None:
    """A job of the last cycle is explained, another is not found."""
    daemon.explanations["a/train"] = {"phase": "Pending"}

    assert (await get(endpoints, "metrics", "/debug/explain?job=a/train"))[0] == 200
    assert (await get(endpoints, "metrics", "/debug/explain?job=a/other"))[0] == 404


async def test_explain_shows_the_nodes_of_a_pod(endpoints: Endpoints, daemon: Daemon) -> None:
    """A pod has tables of as many nodes as the request names; a busy scheduler asks to try again."""
    daemon.examinations["a/p", 10] = [{"pod": "a/p"}]
    daemon.examinations["a/p", 3] = [{"pod": "a/p", "nodes": 3}]

    assert await get(endpoints, "metrics", "/debug/explain?pod=a/p") == (200, '[\n {\n  "pod": "a/p"\n }\n]\n')
    assert '"nodes": 3' in (await get(endpoints, "metrics", "/debug/explain?pod=a/p&nodes=3"))[1]
    assert (await get(endpoints, "metrics", "/debug/explain?pod=a/other"))[0] == 404
    for wrong in ("0", "1001", "x", "-1", "٣", "9" * 5000):
        assert (await get(endpoints, "metrics", f"/debug/explain?pod=a/p&nodes={wrong}"))[0] == 400, wrong
    daemon.is_busy = True
    assert (await get(endpoints, "metrics", "/debug/explain?pod=a/p"))[0] == 503


async def put(endpoints: Endpoints, path: str, body: str) -> tuple[int, str]:
    """Send a body, and return status and text."""
    async with (
        aiohttp.ClientSession() as session,
        session.put(f"http://127.0.0.1:{endpoints.ports['metrics']}{path}", data=body) as answer,
    ):
        return answer.status, await answer.text()


async def test_debug_flags_are_changed_by_put(endpoints: Endpoints, daemon: Daemon) -> None:
    """The body is the value, which GET then returns."""
    assert await put(endpoints, "/debug/flags/s", "5\n") == (200, "5\n")
    assert await put(endpoints, "/debug/flags/f", "true") == (200, "true\n")
    assert await put(endpoints, "/debug/flags/d", "1") == (200, "true\n")
    assert await put(endpoints, "/debug/flags/v", "4") == (200, "4\n")

    assert (daemon.flags.scores, daemon.flags.filters, daemon.verbosity) == (5, True, 4)
    assert daemon.flags.diagnosis
    assert await get(endpoints, "metrics", "/debug/flags/s") == (200, "5\n")
    assert await put(endpoints, "/debug/flags/f", "FALSE") == (200, "false\n")


@pytest.mark.parametrize(
    ("path", "body"),
    [("s", "-1"), ("s", "65"), ("s", "²"), ("s", ""), ("f", "maybe"), ("d", "2"), ("v", "11"), ("v", "4" * 100)],
)
async def test_wrong_values_of_debug_flags_are_refused(
    endpoints: Endpoints, daemon: Daemon, path: str, body: str
) -> None:
    """The answer names the flag, and the flag keeps its value."""
    status, text = await put(endpoints, f"/debug/flags/{path}", body)

    assert status == 400
    assert text.startswith(f"/debug/flags/{path}: ")
    assert (daemon.flags.scores, daemon.flags.filters, daemon.verbosity) == (0, False, 0)


async def test_nothing_is_served_that_was_not_asked_for(daemon: Daemon) -> None:
    """Without flags no listener is opened."""
    served = Endpoints(Options(), replace(daemon.inside(), looks={}))
    await served.start()

    assert served.ports == {}


async def test_port_in_use_ends_the_start_for_probes_but_not_for_metrics(endpoints: Endpoints, daemon: Daemon) -> None:
    """A daemon without probes would be killed by its kubelet; one without metrics works."""
    taken = f"127.0.0.1:{endpoints.ports['health']}"
    await Endpoints(Options(enable_metrics=True, listen_address=taken), daemon.inside()).start()

    with pytest.raises(ConfigError, match="--healthz-address"):
        await Endpoints(Options(enable_healthz=True, healthz_address=taken), daemon.inside()).start()


async def test_probes_are_served_over_tls(daemon: Daemon, tmp_path: Path) -> None:
    """With the three files the health listener speaks TLS, and takes clients without a certificate."""
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1")
    files = {name: str(tmp_path / name) for name in ("ca", "cert", "key")}
    authority.cert_pem.write_to_path(files["ca"])
    server.cert_chain_pems[0].write_to_path(files["cert"])
    server.private_key_pem.write_to_path(files["key"])
    served = Endpoints(
        Options(
            enable_healthz=True,
            healthz_address="127.0.0.1:0",
            ca_cert_file=files["ca"],
            tls_cert_file=files["cert"],
            tls_private_key_file=files["key"],
        ),
        daemon.inside(),
    )
    await served.start()
    tls = make_client_context(authority.configure_trust)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"https://127.0.0.1:{served.ports['health']}/healthz", ssl=tls) as answer,
    ):
        assert answer.status == 200
    await served.stop()


def make_client_context(trust: Callable[[Any], None]) -> Any:
    """Return a client's TLS settings that trust one authority."""
    context = ssl.create_default_context()
    trust(context)
    return context


async def test_tls_file_that_is_missing_is_named(daemon: Daemon) -> None:
    """A wrong path stops the start with the flags to look at."""
    options = Options(
        enable_healthz=True,
        healthz_address="127.0.0.1:0",
        ca_cert_file="/nowhere/ca",
        tls_cert_file="/nowhere/cert",
        tls_private_key_file="/nowhere/key",
    )

    with pytest.raises(ConfigError, match="--tls-cert-file"):
        await Endpoints(options, daemon.inside()).start()


class Doorkeeper(Reviews):
    """Knows one token, which may get one path and put to another."""

    def __init__(self) -> None:
        """Query no extender."""

    async def judge(self, token: str, path: str, verb: str = "get") -> Access:
        """Let `good` read the metrics and change one flag."""
        if token != "good":
            return Access.UNKNOWN
        may = (path, verb) in {("/metrics", "get"), ("/debug/flags/s", "put")}
        return Access.GRANTED if may else Access.FORBIDDEN


async def test_metrics_are_served_over_tls_to_those_who_may_read_them(daemon: Daemon, tmp_path: Path) -> None:
    """Without a token 401, with one that may not 403, with one that may the metrics; a renewed certificate is shown."""
    authority = trustme.CA()
    certificate, key = tmp_path / "cert", tmp_path / "key"

    def issue() -> None:
        pair = authority.issue_cert("127.0.0.1")
        pair.cert_chain_pems[0].write_to_path(certificate)
        pair.private_key_pem.write_to_path(key)

    issue()
    served = Endpoints(
        Options(
            enable_metrics=True,
            listen_address="127.0.0.1:0",
            metrics_tls_cert_file=str(certificate),
            metrics_tls_private_key_file=str(key),
            metrics_authorization=True,
        ),
        daemon.inside(),
        Doorkeeper(),
    )
    await served.start()
    tls = make_client_context(authority.configure_trust)
    base = f"https://127.0.0.1:{served.ports['metrics']}"
    async with aiohttp.ClientSession() as session:
        for path, token, code in (
            ("/metrics", "", 401),
            ("/metrics", "bad", 401),
            ("/debug/audit", "good", 403),
            ("/metrics", "good", 200),
        ):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with session.get(base + path, ssl=tls, headers=headers) as answer:
                assert answer.status == code, path
        for flag, code in (("s", 200), ("f", 403)):
            headers = {"Authorization": "Bearer good"}
            async with session.put(f"{base}/debug/flags/{flag}", ssl=tls, headers=headers, data="1") as answer:
                assert answer.status == code, flag
    await served.stop()


async def test_a_renewed_certificate_is_shown_and_a_broken_one_is_not(tmp_path: Path) -> None:
    """The files are read again when they change; half a pair leaves the last good one."""
    authority = trustme.CA()
    certificate, key = tmp_path / "cert", tmp_path / "key"
    pairs = [authority.issue_cert("127.0.0.1") for _ in range(2)]
    pairs[0].cert_chain_pems[0].write_to_path(certificate)
    pairs[0].private_key_pem.write_to_path(key)
    mounted = MountedCertificate(certificate, key)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=mounted.context)
    port = server.sockets[0].getsockname()[1]

    async def shown() -> bytes:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=make_client_context(authority.configure_trust))
        found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return found

    first = await shown()
    pairs[1].cert_chain_pems[0].write_to_path(certificate)
    mounted.look()
    assert await shown() == first
    pairs[1].private_key_pem.write_to_path(key)
    mounted.look()
    assert await shown() != first
    server.close()


async def test_a_certificate_that_cannot_be_read_ends_the_start(daemon: Daemon) -> None:
    """The flags are named."""
    options = Options(
        enable_metrics=True,
        listen_address="127.0.0.1:0",
        metrics_tls_cert_file="/nowhere/cert",
        metrics_tls_private_key_file="/nowhere/key",
    )

    with pytest.raises(ConfigError, match="--metrics-tls-cert-file"):
        await Endpoints(options, daemon.inside()).start()


async def test_idle_connections_are_closed_for_others(endpoints: Endpoints) -> None:
    """A hundred connections without a request to each listener leave a request its answer."""
    ports = [endpoints.ports["health"], endpoints.ports["metrics"]] * 100
    opened = [await asyncio.open_connection("127.0.0.1", port) for port in ports]

    assert (await get(endpoints, "health", "/livez"))[0] == 200
    assert (await get(endpoints, "metrics", "/metrics"))[0] == 200
    assert all(runner.server is not None and len(runner.server.connections) <= 64 for runner in endpoints._runners)
    for _, writer in opened:
        writer.close()


async def test_parallel_requests_share_the_text_of_the_metrics(endpoints: Endpoints) -> None:
    """It is made once for all requests that come while it is made."""
    made: list[bool] = []
    may_end = threading.Event()

    def text() -> bytes:
        made.append(may_end.wait(30))
        return b"volcano_x 1\n"

    endpoints._inside = replace(endpoints._inside, metrics_text=text)
    asked = [asyncio.create_task(get(endpoints, "metrics", "/metrics")) for _ in range(8)]
    while endpoints._permits._value > 16 - 8:  # noqa: ASYNC110  # what is waited for has no event
        await asyncio.sleep(0.01)
    may_end.set()

    assert {status for status, _ in await asyncio.gather(*asked)} == {200}
    assert made == [True]


async def test_a_client_that_takes_no_answer_loses_its_connection(endpoints: Endpoints) -> None:
    """Otherwise each of them would hold megabytes."""
    endpoints._inside = replace(endpoints._inside, metrics_text=lambda: b"x" * 2**25)
    endpoints.send_seconds = 0.05
    server = endpoints._runners[1].server
    assert server is not None
    _, writer = await asyncio.open_connection("127.0.0.1", endpoints.ports["metrics"], limit=1)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    while endpoints._text is None or server.connections:  # noqa: ASYNC110  # what is waited for has no event
        await asyncio.sleep(0.01)

    assert endpoints._permits._value == 16
    writer.close()
