"""Admission server: HTTPS, one POST request per review, on every replica.

The size and the time of a request are limited. A request that is not a review gets status 400 with a message. An
internal error gets status 500 without a traceback, and the API server applies the failure policy of the webhook. The
same port serves probes.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from time import perf_counter
from typing import Final

import structlog
from aiohttp import web

from pyroclast.controllers.admission.certificates.clients import names_of
from pyroclast.controllers.admission.cluster import AdmissionCluster
from pyroclast.controllers.admission.handlers import (
    SERVICES,
    AdmissionPolicy,
    KnownCluster,
    WebhookService,
    review_object,
)
from pyroclast.controllers.admission.limits import (
    LARGEST_BODY_BYTES,
    SMALL_BODY_BYTES,
    ClientConnections,
    RequestBodies,
    listen,
)
from pyroclast.controllers.admission.lookups import QueuesByName
from pyroclast.controllers.admission.metrics import REVIEW_SECONDS, REVIEWS
from pyroclast.controllers.admission.quota_counting import QuotaCounter
from pyroclast.controllers.admission.reviews import AdmissionVerdict, Review, ReviewError, answer, read_review
from pyroclast.controllers.admission.rules.shape import member
from pyroclast.model.api.meta import LabelSelector
from pyroclast.model.elastic.names import QUOTA_NAME
from pyroclast.model.errors import ConfigError

__all__ = ["LARGEST_BODY_BYTES", "Server"]

_BODY_SECONDS: Final = 5.0
"""Longest wait for the rest of a request; the API server sends it at once."""
_STOP_SECONDS: Final = 5.0
"""Time limit of pending requests at the end."""

Handler = Callable[[web.Request], Awaitable[web.Response]]

_log = structlog.get_logger(__name__)


class Server:
    """Made, serving (after `start`), stopped."""

    def __init__(
        self,
        cluster: AdmissionCluster,
        policy: AdmissionPolicy,
        paths: Iterable[str] = SERVICES,
        *,
        body_seconds: float = _BODY_SECONDS,
        client_names: Iterable[str] = (),
        counter: QuotaCounter | None = None,
    ) -> None:
        """Create the server. `start` opens the port.

        Args:
            cluster: Queues and namespaces that the rules read.
            policy: Settings of the operator. They may be replaced while serving.
            paths: Paths to serve. Other paths return "not found".
            body_seconds: Longest wait for the rest of a request.
            counter: Counts new pods in their elastic quotas; None: they are not counted.
            client_names: Names of which a client's certificate must have one. Empty: every TLS client is accepted.
        """
        self.policy = policy
        self._counter = counter
        self._cluster, self._body_seconds, self._client_names = cluster, body_seconds, frozenset(client_names)
        self._turn = asyncio.Lock()
        """Held while a thread processes a review, which may take seconds."""
        self._bodies, self._client_connections = RequestBodies(), ClientConnections()
        self._listener: asyncio.Server | None = None
        self._runner = web.AppRunner(
            self._application(paths), access_log=None, shutdown_timeout=_STOP_SECONDS, keepalive_timeout=75.0
        )

    @property
    def port(self) -> int:
        """Port in use. For port 0 it is the port that the system chose."""
        assert self._listener is not None, "a server that has started"
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Listen. Without TLS the address must not be reachable from outside.

        Raises:
            ConfigError: The address cannot be used.
        """
        await self._runner.setup()
        assert self._runner.server is not None, "made by the line above"
        try:
            self._listener = await listen(
                self._runner.server, host or None, port, tls, client_connections=self._client_connections
            )
        except OSError as error:
            await self._runner.cleanup()
            raise ConfigError(f"admission: {host}:{port}: {error.strerror or error}") from error

    async def stop(self) -> None:
        """Answer pending requests, then close."""
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()

    def _application(self, paths: Iterable[str]) -> web.Application:
        application = web.Application(client_max_size=LARGEST_BODY_BYTES)
        application.router.add_get("/healthz", self._alive)
        application.router.add_get("/readyz", self._ready)
        for path in paths:
            application.router.add_post(path, self._handler(SERVICES[path]))
        return application

    async def _alive(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _ready(self, _: web.Request) -> web.Response:
        if self._cluster.is_synced:
            return web.Response(text="ok")
        return web.Response(status=503, text="queues, quotas and namespaces are not listed yet\n")

    def _handler(self, service: WebhookService) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            async with AsyncExitStack() as held:
                outcome, response = await self._answered(service, request, held)
            REVIEWS.labels(service.path, outcome).inc()
            return response

        return handle

    async def _answered(
        self, service: WebhookService, request: web.Request, held: AsyncExitStack
    ) -> tuple[str, web.Response]:
        """Answer one request. The first value is the result for the metric."""
        if self._client_names and not self._client_names.intersection(names_of(request.get_extra_info("peercert"))):
            return "forbidden", _text(403, "the client's certificate has none of the expected names")
        if request.content_type != "application/json":
            return "malformed", _text(415, f"got {request.content_type}, expected application/json")
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await self._bodies.read(request, held)
            review = read_review(body)
        except web.HTTPRequestEntityTooLarge:
            return "malformed", _text(413, f"the body is larger than {LARGEST_BODY_BYTES} bytes")
        except TimeoutError:
            return "malformed", _text(408, f"the body did not come within {self._body_seconds:g} s")
        except ReviewError as error:
            return "malformed", _text(400, str(error))
        self._client_connections.note(request.protocol)
        began = perf_counter()
        try:
            verdict = await self._verdict(service, review, is_large=len(body) > SMALL_BODY_BYTES)
        except Exception:  # noqa: BLE001  the edge: a fault of one answer must not end the server; it is logged whole
            _log.exception("admission_failed", path=service.path, name=review.name, namespace=review.namespace)
            return "failed", _text(500, "admission failed; its log says why")
        REVIEW_SECONDS.labels(service.path).observe(perf_counter() - began)
        if verdict.faults:
            _log.info(
                "admission_refused",
                path=service.path,
                operation=review.operation,
                namespace=review.namespace,
                name=review.name,
                fields=[fault.field for fault in verdict.faults],
            )
        outcome = "refused" if verdict.faults else "allowed"
        return outcome, web.Response(body=answer(review, verdict), content_type="application/json")

    async def _verdict(self, service: WebhookService, review: Review, *, is_large: bool) -> AdmissionVerdict:
        known = await self._known(service, review)
        verdict = await self._judged(service, review, known, is_large=is_large)
        if verdict.faults and (service.reads_queues or service.reads_quotas):
            # The stores may be stale.
            known = await self._known(service, review, is_fresh=True)
            verdict = await self._judged(service, review, known, is_large=is_large)
        return verdict if verdict.faults else await self._counted(service, review, verdict)

    async def _counted(self, service: WebhookService, review: Review, verdict: AdmissionVerdict) -> AdmissionVerdict:
        """Count a new pod of our schedulers in its elastic quota; the last check, because it is written down."""
        is_new = service.counts_pods and review.operation == "CREATE" and not review.dry_run and not review.sub_resource
        is_ours = member(review.object, "spec", "schedulerName") in self.policy.scheduler_names
        if self._counter is None or not is_new or not is_ours:
            return verdict
        fault = await self._counter.count(review.object, review.namespace)
        return verdict if fault is None else AdmissionVerdict(faults=(fault,))

    async def _known(self, service: WebhookService, review: Review, *, is_fresh: bool = False) -> KnownCluster:
        cluster = self._cluster
        queues = cluster.fresh if is_fresh else cluster.lookups
        return KnownCluster(
            lookups=await queues() if service.reads_queues else None,
            quotas=await cluster.quotas(is_fresh=is_fresh) if service.reads_quotas else None,
            tree_nodes=self._tree_nodes(review) if service.reads_trees else None,
            namespace_annotations=(
                await cluster.namespace_annotations(review.namespace) if service.reads_namespace else {}
            ),
        )

    def _tree_nodes(self, review: Review) -> LabelSelector | None:
        quota = member(review.object, "metadata", "labels", QUOTA_NAME)
        return self._cluster.nodes_of_tree(quota if isinstance(quota, str) else "", review.namespace)

    async def _judged(
        self, service: WebhookService, review: Review, known: KnownCluster, *, is_large: bool
    ) -> AdmissionVerdict:
        if not is_large:
            return review_object(service, review, self.policy, known)
        if known.lookups is not None:
            # The stores change in this thread, so the other thread reads a copy.
            known = replace(known, lookups=QueuesByName(known.lookups.queues()))
        async with self._turn:
            return await asyncio.to_thread(review_object, service, review, self.policy, known)


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")
