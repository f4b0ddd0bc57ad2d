"""Reconciler: writes the statuses of Koordinator's PodGroups. Its keys are these groups."""

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec

from pyroclast.controllers.gangs.decide import count, decide
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.controllers.runtime.writer import means_another
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import GANG_POD_GROUPS, PODS
from pyroclast.model.gangs.identity import gang_of
from pyroclast.model.wire import GangPodGroup, Pod

__all__ = ["GangStatuses"]

_BY_GANG: Final = "gangs:gang"


class GangStatuses(Controller):
    """Updates the status of groups whose members our schedulers place."""

    name: ClassVar[str] = "gang"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch groups and pods."""
        self._schedulers = options.scheduler_names
        self._groups: Store[GangPodGroup] = operator.store(GANG_POD_GROUPS)
        self._pods: Store[Pod] = operator.store(PODS, {_BY_GANG: _gang_of})
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=GANG_POD_GROUPS, keys=lambda _, new: () if new is None else (key_of(new),)),
                Watch(resource=PODS, keys=self._keys_of_pod),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Write the status of a group if it has changed. Groups of other schedulers are skipped.

        Raises:
            ApiError: The server refused.
        """
        group = self._groups.get(*key)
        if group is None or group.metadata.deletion_timestamp:
            return None
        pods = self._pods.by(_BY_GANG, "/".join(key))
        if pods and all(pod.spec.scheduler_name not in self._schedulers for pod in pods):
            return None
        status = decide(group, count(pods), self._operator.clock.wall())
        if status != group.status:
            await self._write(group, msgspec.to_builtins(status))
        return None

    async def _write(self, group: GangPodGroup, status: dict[str, object]) -> None:
        is_apart = await self._operator.discovery.has(GANG_POD_GROUPS, "status")
        # the status lacks numbers that are 0, and the merge patch must set them
        whole = {"scheduled": 0, "running": 0, "succeeded": 0, "failed": 0, **status}
        try:
            await self._operator.writer.merge(
                GANG_POD_GROUPS, group.metadata, {"status": whole}, subresource="status" if is_apart else ""
            )
        except ApiError as error:
            if not means_another(error):
                raise

    def _keys_of_pod(self, old: Pod | None, new: Pod | None) -> Iterable[Key]:
        """Return the groups of a pod's gang after a relevant change: created, deleted, new node, phase or gang."""
        if old is not None and new is not None and _facts(old) == _facts(new):
            return ()
        named = {gang for pod in (old, new) if pod is not None for gang in _gang_of(pod)}
        keys = (tuple(gang.split("/", 1)) for gang in sorted(named))
        return [(namespace, name) for namespace, name in keys if self._groups.get(namespace, name) is not None]


def _gang_of(pod: Pod) -> tuple[str, ...]:
    gang = gang_of(pod.metadata)
    return (gang,) if gang else ()


def _facts(pod: Pod) -> object:
    return pod.spec.node_name, pod.status.phase, gang_of(pod.metadata)
