"""Binder: carry out the binds of a plan.

All preparations of a plan finish before its first bind. If one fails, the finished ones are reverted in reverse order
and nothing is bound. Binds are then sent together, each with the pod's UID, and each has its own result. A lost answer
is not a failure: the pod shows whether it is bound. The same pod is never sent to a second node, because the server
refuses the bind of a bound pod.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError, NoAnswerError
from pyroclast.kube.api.resources import PODS
from pyroclast.kube.api.retrying import RetryLimiter
from pyroclast.kube.writes.binding import BindOutcome, Delegate, DelegateError, PlanOutcome, Preparer, refused
from pyroclast.kube.writes.claims import ClaimPreparer
from pyroclast.kube.writes.node_lock import NodeLocker
from pyroclast.kube.writes.pod_patch import PodAnnotator, PodPatcher
from pyroclast.kube.writes.reserving import make_available
from pyroclast.kube.writes.volumes import BIND_VOLUME, VolumePreparer
from pyroclast.kube.writes.write_priority import WritePriority
from pyroclast.model import wire
from pyroclast.model.device_claims import ALLOCATE_CLAIM
from pyroclast.model.devices.locks import LOCK_NODE
from pyroclast.model.errors import PyroclastError
from pyroclast.model.patches import ANNOTATE_POD, PATCH_POD
from pyroclast.model.plan import Bind, Plan, Preparation

__all__ = ["ApiBinder"]

_TIMEOUT: Final = 10.0
_CREATED_MAYBE: Final = frozenset({0, 500, 502, 503, 504})
"""Refusals after which the bind may have happened: no answer, or trouble after the write."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    bind: Bind
    preparation: Preparation
    preparer: Preparer


class ApiBinder:
    """Binds by the API server's Binding subresource."""

    def __init__(
        self,
        client: Client,
        *,
        preparers: Mapping[str, Preparer] | None = None,
        delegate: Delegate | None = None,
        is_leader: Callable[[], bool] = lambda: True,
        write_priority: WritePriority | None = None,
        concurrency: int = 32,
        patience_seconds: float = 60.0,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Create a binder.

        Args:
            client: Client of the API server.
            preparers: Preparer of each kind of preparation; volumes are bound by `VolumePreparer`, resource
                claims allocated by `ClaimPreparer`, nodes locked by `NodeLocker` and pods labelled by `PodPatcher`,
                unless given here.
            delegate: Binds the pods for which a plan names a delegate.
            is_leader: Whether this process may still act; checked before each batch and each attempt.
            write_priority: Counts binds under way, so that other writes wait.
            concurrency: Maximum number of binds at a time, over all plans; half as many more are retried.
            patience_seconds: Time for which one bind is retried.
            clock: Clock for waiting.
            chance: Source of jitter.
        """
        self.preparers: dict[str, Preparer] = {
            BIND_VOLUME: VolumePreparer(client, clock=clock),
            ALLOCATE_CLAIM: ClaimPreparer(client, clock=clock),
            LOCK_NODE: NodeLocker(client, clock=clock),
            PATCH_POD: PodPatcher(client, clock=clock),
            ANNOTATE_POD: PodAnnotator(client, clock=clock),
            **(preparers or {}),
        }
        self._client = client
        self._delegate = delegate
        self._is_leader = is_leader
        self._write_priority = write_priority or WritePriority()
        self._clock = clock or SystemClock()
        self._retry_limiter = RetryLimiter(concurrency, clock=self._clock, patience_seconds=patience_seconds)
        self._chance = chance or random.Random()

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Prepare everything, then bind."""
        prepared: list[_Prepared] = []
        begun = self._clock.monotonic()
        failure = await self._prepare_all(plan, prepared)
        prepared_seconds = self._clock.monotonic() - begun if prepared else None
        if failure is not None:
            await self._revert(prepared)
            return PlanOutcome(plan=plan, binds=tuple(refused(bind, *failure) for bind in plan.binds))
        outcomes = await asyncio.gather(*(self._bind_in_turn(bind) for bind in plan.binds))
        in_vain = {id(outcome.bind) for outcome in outcomes if not outcome.is_bound}
        await self._revert([done for done in prepared if id(done.bind) in in_vain])
        return PlanOutcome(plan=plan, binds=tuple(outcomes), prepared_seconds=prepared_seconds)

    async def _prepare_all(self, plan: Plan, prepared: list[_Prepared]) -> tuple[str, str] | None:
        """Do all preparations: in order for each pod, pods concurrently. Return the first failure."""
        if not self._is_leader():
            return "NotLeader", "leadership was lost"
        unknown = {step.kind for bind in plan.binds for step in bind.preparations} - self.preparers.keys()
        if unknown:
            return "PreparationFailed", f"no preparer for {', '.join(sorted(unknown))}"
        failures: list[str] = []

        async def prepare(bind: Bind) -> None:
            for step in bind.preparations:
                if failures:
                    return  # the plan has failed already: start nothing that would be reverted
                preparer = self.preparers[step.kind]
                try:
                    # Recorded before it is done, because a preparation that fails half-way must be reverted too.
                    prepared.append(_Prepared(bind=bind, preparation=step, preparer=preparer))
                    await preparer.prepare(bind, step)
                except Exception as error:  # noqa: BLE001  preparers come from outside, and a bug of theirs fails the plan
                    failures.append(f"{step.kind} {step.namespace}/{step.name}: {error}")

        await asyncio.gather(*(prepare(bind) for bind in plan.binds if bind.preparations))
        return ("PreparationFailed", failures[0]) if failures else None

    async def _revert(self, prepared: list[_Prepared]) -> None:
        for done in reversed(prepared):
            try:
                await done.preparer.revert(done.bind, done.preparation)
            except Exception:  # noqa: BLE001  see above; the others must be reverted all the same
                _log.exception("revert_failed", kind=done.preparation.kind, name=done.preparation.name)

    async def _bind_in_turn(self, bind: Bind) -> BindOutcome:
        backoff = Backoff(first_seconds=0.1, cap_seconds=10.0, chance=self._chance)
        try:
            return await self._retry_limiter.take(lambda: self._bind_once(bind), backoff=backoff)
        except ApiError as error:
            return refused(bind, "Gone" if error.is_not_found else error.reason, error.message)
        except PyroclastError as error:
            return refused(bind, "Unreadable", str(error))
        except Exception as error:  # noqa: BLE001  delegates come from outside; the outcomes of the other binds count
            _log.exception("bind_broke", pod=f"{bind.namespace}/{bind.name}")
            return refused(bind, "Failed", f"{type(error).__name__}: {error}")

    async def _bind_once(self, bind: Bind) -> BindOutcome:
        if not self._is_leader():
            return refused(bind, "NotLeader", "leadership was lost")
        if isinstance(bind.reservation, str):
            with self._write_priority.bind():
                return await make_available(self._client, bind, bind.reservation, self._clock)
        if bind.delegate and (outcome := await self._bind_by_delegate(bind)) is not None:
            return outcome
        try:
            # Preparations and waits do not count as binds: they may take minutes, and other writes need not wait for
            # them.
            with self._write_priority.bind():
                await self._client.request(
                    "POST", PODS.path(bind.namespace, bind.name, "binding"), body=_binding(bind), timeout=_TIMEOUT
                )
        except ApiError as error:
            if error.status == 409 or error.status in _CREATED_MAYBE:
                return await self._look(bind, error)
            raise
        return BindOutcome(bind=bind, is_bound=True)

    async def _bind_by_delegate(self, bind: Bind) -> BindOutcome | None:
        """Bind a pod through the delegate. Return None if the delegate leaves the bind to this binder."""
        if self._delegate is None:
            return refused(bind, "DelegateFailed", f"no binder for {bind.delegate} is configured")
        try:
            return BindOutcome(bind=bind, is_bound=True) if await self._delegate.bind(bind) else None
        except DelegateError as error:
            return _what_shows(bind, await self._read(bind)) or refused(bind, "DelegateFailed", str(error))

    async def _read(self, bind: Bind) -> wire.Pod:
        return PODS.decoder.decode(
            await self._client.request("GET", PODS.path(bind.namespace, bind.name), timeout=_TIMEOUT)
        )

    async def _look(self, bind: Bind, error: ApiError) -> BindOutcome:
        """Read the pod, which alone shows whether the bind happened.

        Raises:
            ApiError: It did not happen, and may be retried if the error is temporary.
        """
        outcome = _what_shows(bind, await self._read(bind))
        if outcome is not None:
            return outcome
        if error.status == 409:
            # Neither bound nor deleted: two writers conflicted inside the server, so a retry may succeed.
            raise NoAnswerError(error.message) from error
        raise error


def _what_shows(bind: Bind, pod: wire.Pod) -> BindOutcome | None:
    """Return the outcome that a pod shows; None if it is not bound."""
    if pod.metadata.uid != bind.task:
        return refused(bind, "Gone", "another pod of the same name took its place")
    if pod.spec.node_name == bind.node:
        return BindOutcome(bind=bind, is_bound=True)
    if pod.spec.node_name:
        return refused(bind, "BoundElsewhere", f"it runs on {pod.spec.node_name}")
    if pod.metadata.deletion_timestamp:
        return refused(bind, "Gone", "it is being deleted")
    return None


def _binding(bind: Bind) -> bytes:
    metadata: dict[str, object] = {"name": bind.name, "namespace": bind.namespace, "uid": bind.task}
    if bind.annotations and not bind.labels:  # else the patch with the labels has written them
        metadata["annotations"] = dict(bind.annotations)
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
        }
    )
