"""Counting: new pods are refused that request more than their elastic quota permits, before any scheduler sees them.

As with Koordinator's gate EnableQuotaAdmission, the requests of a quota's pods are read from its annotation
`child-request`, which the scheduler computes. An accepted pod is added there at once, so that the next one is judged
with it. Pods of one quota are judged in batches, in the order of arrival. A batch writes once, for the version of the
quota that it read, and is judged again if another replica wrote meanwhile.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import msgspec
import structlog

from pyroclast.controllers.admission.cluster import AdmissionCluster
from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.shape import read
from pyroclast.controllers.runtime.writer import Writer
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.errors import ApiConflictError, ApiError
from pyroclast.kube.api.resources import ELASTIC_QUOTAS
from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.elastic.names import ADMISSION, CHILD_REQUEST, QUOTA_NAME
from pyroclast.model.elastic.tree import BUILT_IN
from pyroclast.model.errors import CacheError, ObjectError
from pyroclast.model.quantity import QuantityError
from pyroclast.model.requests import amounts, pod_request, quantity_text, resource_list
from pyroclast.model.resources import Amounts
from pyroclast.model.texts import said_by

__all__ = ["QuotaCounter", "beyond"]

_TRIES: Final = 4
"""The first one, and three for conflicts with other replicas."""
_SECONDS: Final = 1.5
"""Longest wait of a pod: the API server gives a webhook for pods two seconds, and admits the pod afterwards."""
_MOST_IN_BATCH: Final = 256
_MOST_WAITING: Final = 2000
"""Pods that wait at a time, over all quotas. Beyond it a quota may still have its part of them, so that the pods of one
quota do not refuse those of others."""

_EXPECTED: Final = (ApiError, CacheError, ObjectError, ValueError, msgspec.MsgspecError)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A pod that waits for its answer."""

    request: Amounts
    answer: "asyncio.Future[Fault | None]"


class QuotaCounter:
    """Counts new pods. One task at a time works for each quota, as long as pods of it wait."""

    def __init__(self, client: Client, cluster: AdmissionCluster, *, seconds: float = _SECONDS) -> None:
        """Count nothing yet."""
        self._client, self._cluster, self._seconds = client, cluster, seconds
        self._writer = Writer(client)
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._work: dict[str, asyncio.Task[None]] = {}
        self._counts: Counter[str] = Counter()
        """Number of waiting pods by quota."""

    async def count(self, value: Mapping[str, Any], namespace: str) -> Fault | None:
        """Count a new pod; return why it is refused, None if it is accepted. Pods without a quota are accepted.

        Args:
            value: The pod, as JSON.
            namespace: Where it is made; a new pod does not say it itself.
        """
        pod = read(wire.Pod, value)
        if isinstance(pod, Fault):
            return None  # the API server refuses it
        name = pod.metadata.labels.get(QUOTA_NAME, "")
        if name in BUILT_IN:
            return None
        try:
            request = pod_request(pod).amounts
        except QuantityError:
            return None
        try:
            async with asyncio.timeout(self._seconds):
                return await self._counted_in(name, pod.metadata.namespace or namespace, request)
        except TimeoutError:
            said = f"elastic quota {name}" if name else f"the elastic quota of namespace {namespace}"
            return _fault(f"{said}: evaluation timed out after {self._seconds:g} s")

    async def _counted_in(self, name: str, namespace: str, request: Amounts) -> Fault | None:
        """Count a pod in the quota that it names, or else in that of its namespace."""
        try:
            quota = await self._cluster.quota_of(name, namespace)
        except CacheError as error:
            return _fault(f"elastic quota {name} could not be evaluated: {error}") if name else None
        if quota is None:
            return _fault(f"elastic quota {name} not found") if name else None
        if quota.metadata.name in BUILT_IN:
            return None
        return await self._counted(quota.metadata.key, request)

    async def _counted(self, key: str, request: Amounts) -> Fault | None:
        own = self._counts[key]
        part = _MOST_WAITING // len({*self._counts, key})
        if self._counts.total() >= _MOST_WAITING and own >= max(part, 1):
            return _fault(f"elastic quota {key}: {own} of its pods wait to be counted already; try again")
        waiting = _Waiting(request=request, answer=asyncio.get_running_loop().create_future())
        self._waiting.setdefault(key, deque()).append(waiting)
        self._counts[key] += 1
        if key not in self._work:
            self._work[key] = asyncio.create_task(self._work_on(key))
        try:
            return await waiting.answer
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]

    async def _work_on(self, key: str) -> None:
        """Judge the pods of one quota until none waits."""
        waiting = self._waiting[key]
        try:
            while waiting:
                batch = [waiting.popleft() for _ in range(min(len(waiting), _MOST_IN_BATCH))]
                asking = [each for each in batch if not each.answer.done()]
                if asking:
                    await self._judge_batch(key, asking)
        finally:
            del self._waiting[key], self._work[key]
            for each in waiting:
                _answer(each, _fault(f"elastic quota {key} could not be evaluated"))

    async def _judge_batch(self, key: str, batch: Sequence[_Waiting]) -> None:
        try:
            for _ in range(_TRIES):
                if await self._judge(key, batch):
                    return
            fault = _fault(f"elastic quota {key} was changed by others {_TRIES} times in turn; try again")
        except Exception as error:  # noqa: BLE001  whatever is wrong with the quota, its pods get an answer
            _log.warning(
                "quota_not_counted", quota=key, error=said_by(error), exc_info=not isinstance(error, _EXPECTED)
            )
            fault = _fault(f"elastic quota {key} could not be evaluated: {said_by(error)}")
        for each in batch:
            _answer(each, fault)

    async def _judge(self, key: str, batch: Sequence[_Waiting]) -> bool:
        """Judge a batch by the quota as it is now. Return False if it changed before the result was written."""
        body = await self._client.request("GET", ELASTIC_QUOTAS.path(*key.split("/")), timeout=self._seconds)
        quota = ELASTIC_QUOTAS.decoder.decode(body)
        used = _noted(quota, CHILD_REQUEST)
        before, verdicts = dict(used), list[tuple[_Waiting, Fault | None]]()
        limit = _noted(quota, ADMISSION) or _readable(quota.spec.max)
        for each in batch:
            request = {name: each.request[name] for name in sorted(quota.spec.max) if each.request.get(name)}
            fault = beyond(key, request, used, limit)
            verdicts.append((each, fault))
            for name, amount in request.items() if fault is None else ():
                used[name] = used.get(name, 0) + amount
        if used != before:
            text = msgspec.json.encode(resource_list(used), order="deterministic").decode()
            change = {"metadata": {"annotations": {CHILD_REQUEST: text}}}
            try:
                await self._writer.merge(ELASTIC_QUOTAS, quota.metadata, change, is_of_version=True)
            except ApiConflictError:
                return False
        for each, fault in verdicts:
            _answer(each, fault)
        return True


def beyond(key: str, request: Amounts, used: Amounts, limit: Amounts) -> Fault | None:
    """Refuse a request with which a quota would have more than its limit, in Koordinator's words.

    Args:
        key: The quota, `namespace/name`.
        request: What a pod requests of the resources that the quota counts, thousandths.
        used: What the pods of the quota request.
        limit: The most that they may request; resources that it does not name are not limited.
    """
    over = [name for name, amount in request.items() if used.get(name, 0) + amount > limit.get(name, 1 << 62)]
    if not over:
        return None

    def said(listed: Amounts) -> str:
        return ",".join(f"{name}={quantity_text(name, listed.get(name, 0))}" for name in islice(sorted(over), 10))

    return _fault(f"exceeded quota: {key}, requested: {said(request)}, used: {said(used)}, limited: {said(limit)}")


def _noted(quota: wire.ElasticQuota, annotation: str) -> dict[str, int]:
    """Return the amounts of an annotation; none if it is absent.

    Raises:
        ValueError: It cannot be read.
    """
    text = quota.metadata.annotations.get(annotation) or "{}"
    return _readable(read_json(text, dict[str, wire.Quantity]))


def _readable(listed: Mapping[str, wire.Quantity]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, quantity in listed.items():
        try:
            found.update(amounts({name: quantity}))
        except QuantityError:
            continue
    return found


def _fault(rule: str) -> Fault:
    return Fault(field=f"metadata.labels[{QUOTA_NAME}]", rule=rule)


def _answer(each: _Waiting, fault: Fault | None) -> None:
    if not each.answer.done():
        each.answer.set_result(fault)
