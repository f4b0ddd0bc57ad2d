"""HTTP endpoints of a process: probes, metrics and debug endpoints.

================  ===================  ==========================================================================
path              listener             answer
================  ===================  ==========================================================================
/healthz /livez   --healthz-address    200 while the process lives, 503 when background work fails repeatedly
/readyz           --healthz-address    200 once synced and configured, else 503; standbys are ready too
/metrics          --listen-address     Prometheus' text
/debug/...        --listen-address     the handlers of `Inside.looks`
================  ===================  ==========================================================================
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from pyroclast.controllers.admission.limits import ClientConnections, listen
from pyroclast.kube.api.metrics import LOOP_TASKS
from pyroclast.kube.api.reviews import Reviews
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.process_options import ProcessOptions
from pyroclast.scheduler.monitoring.metrics import CONTENT_TYPE
from pyroclast.scheduler.monitoring.metrics_auth import MountedCertificate, guard

__all__ = ["Endpoints", "HealthSource", "Look", "probes", "tls_context"]

_STOP_SECONDS: Final = 5.0
"""Time that running requests have to finish."""
_CONNECTIONS: Final = 64
"""Connections of each listener at a time. For a further one, an idle connection is closed."""
_AT_A_TIME: Final = 16
"""Requests to the metrics listener that are answered at a time; further ones wait. An answer may have megabytes."""
_SEND_SECONDS: Final = 10.0
"""Time in which a client must take an answer, or its connection is closed."""

Check = Callable[[], str | None]
"""Returns why the check fails, or None."""

Look = Callable[[web.Request], Awaitable[web.Response]]
"""Handles requests to a debug endpoint."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSource:
    """State of the process for the endpoints, as functions that are called for each request."""

    checks: Mapping[str, Check]
    """Checks that must pass before the process is ready."""
    vital: Mapping[str, Check]
    """Checks that must pass while the process lives. If one fails, the process should be restarted."""
    metrics_text: Callable[[], bytes]
    """Slow; called in a thread."""
    looks: Mapping[str, Look] = field(default_factory=dict)
    """Additional handlers beside the metrics, by path."""
    changes: Mapping[str, Look] = field(default_factory=dict)
    """Handlers of PUT requests, by path."""


class Endpoints:
    """The listeners of one process: created, serving (after `start`), stopped."""

    def __init__(self, options: ProcessOptions, inside: HealthSource, reviews: Reviews | None = None) -> None:
        """Serve `inside`, once started. `reviews` authorizes callers of the metrics if the options require it."""
        self._options, self._inside, self._reviews = options, inside, reviews
        self._following: asyncio.Task[None] | None = None
        self._runners: list[web.AppRunner] = []
        self._listeners: list[asyncio.Server] = []
        self._permits = asyncio.Semaphore(_AT_A_TIME)
        self._text: asyncio.Task[bytes] | None = None
        """The text of the metrics while it is made; all requests of that time get it."""
        self.send_seconds = _SEND_SECONDS
        """Time in which a client must take an answer."""
        self.ports: dict[str, int] = {}
        """Ports in use, by `health` and `metrics`; shows the port that was chosen for port 0."""

    async def start(self) -> None:
        """Open the listeners that the options enable.

        Raises:
            ConfigError: The probes cannot be served, or a certificate cannot be used. Metrics that cannot be served are
                only logged.
        """
        options = self._options
        if options.enable_healthz:
            tls = tls_context(options) if options.serves_tls else None
            try:
                await self._listen("health", options.healthz_address, probes(self._inside), tls)
            except OSError as error:
                raise ConfigError(f"--healthz-address: {options.healthz_address}: {error.strerror or error}") from error
        if options.enable_metrics or self._inside.looks:
            tls = self._metrics_tls()
            try:
                await self._listen("metrics", options.listen_address, self._metrics_application(), tls)
            except OSError as error:
                _log.error("metrics_not_served", address=options.listen_address, error=error.strerror or str(error))

    async def stop(self) -> None:
        """Close all listeners."""
        if self._following is not None:
            self._following.cancel()
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()

    async def _listen(self, name: str, address: str, application: web.Application, tls: ssl.SSLContext | None) -> None:
        host, _, port = address.rpartition(":")
        connections = ClientConnections()
        application.on_response_prepare.append(_noting(connections))
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=_STOP_SECONDS)
        await runner.setup()
        self._runners.append(runner)
        assert runner.server is not None, "made by the line above"
        listener = await listen(
            runner.server,
            host.strip("[]") or None,
            int(port),
            tls,
            client_connections=connections,
            most=_CONNECTIONS,
        )
        self._listeners.append(listener)
        self.ports[name] = listener.sockets[0].getsockname()[1]

    def _metrics_tls(self) -> ssl.SSLContext | None:
        if not self._options.metrics_tls_cert_file:
            return None
        names = self._options.metrics_tls_cert_file, self._options.metrics_tls_private_key_file
        certificate = MountedCertificate(*map(Path, names))
        self._following = asyncio.create_task(certificate.follow())
        return certificate.context

    def _metrics_application(self) -> web.Application:
        application = web.Application(middlewares=(self._limited, *self._guards()))
        if self._options.enable_metrics:
            application.router.add_get("/metrics", self._metrics)
        for path, look in self._inside.looks.items():
            application.router.add_get(path, look)
        for path, change in self._inside.changes.items():
            application.router.add_put(path, change)
        return application

    def _guards(self) -> tuple[Middleware, ...]:
        if not self._options.metrics_authorization:
            return ()
        if self._reviews is None:
            raise ConfigError("--metrics-authorization: no authorizer for callers")
        return (guard(self._reviews),)

    async def _metrics(self, _: web.Request) -> web.Response:
        LOOP_TASKS.set(len(asyncio.all_tasks()))
        if self._text is None or self._text.done():
            self._text = asyncio.create_task(asyncio.to_thread(self._inside.metrics_text))
        text = await asyncio.shield(self._text)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})

    @web.middleware
    async def _limited(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer some requests at a time. A client that does not take its answer in time loses its connection."""
        async with self._permits:
            response = await handler(request)
            try:
                async with asyncio.timeout(self.send_seconds):
                    await response.prepare(request)
                    await response.write_eof()
            except TimeoutError:
                if request.transport is not None:
                    request.transport.abort()
            return response


def _noting(connections: ClientConnections) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Record the requests of connections, so that those without any are closed first."""

    async def note(request: web.Request, _: web.StreamResponse) -> None:
        connections.note(request.protocol)

    return note


def probes(inside: HealthSource) -> web.Application:
    """Return the application of the probes."""

    async def alive(_: web.Request) -> web.Response:
        return _verdict("livez", inside.vital)

    async def ready(_: web.Request) -> web.Response:
        return _verdict("readyz", {**inside.vital, **inside.checks})

    application = web.Application()
    application.router.add_get("/healthz", alive)
    application.router.add_get("/livez", alive)
    application.router.add_get("/readyz", ready)
    return application


def _verdict(name: str, checks: Mapping[str, Check]) -> web.Response:
    """Answer `ok`, or list each check with its outcome, as Kubernetes components do."""
    reasons = {check: ask() for check, ask in checks.items()}
    if not any(reasons.values()):
        return web.Response(text="ok")
    lines = [f"[-]{check} failed: {why}" if why else f"[+]{check} ok" for check, why in reasons.items()]
    return web.Response(status=503, text="\n".join([*lines, f"{name} check failed", ""]))


def tls_context(options: ProcessOptions) -> ssl.SSLContext:
    """Return the TLS settings of the probes: version 1.2 or newer; a client certificate is optional and verified.

    Raises:
        ConfigError: A file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_OPTIONAL
    try:
        context.load_verify_locations(options.ca_cert_file)
        context.load_cert_chain(options.tls_cert_file, options.tls_private_key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"--ca-cert-file, --tls-cert-file, --tls-private-key-file: {error}") from error
    return context
