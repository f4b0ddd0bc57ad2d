"""Reconciler: creates groups for pods without a group, and deletes groups of workloads without pods.

    pod, alive, ours ──no group──▶ make the group, or bring it up to date ──▶ annotate the pod ──▶ done
    group made here  ──its replica set or stateful set has 0 replicas──▶ delete it

Each step can be repeated. Names are derived from UIDs, and the annotation is written last.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

import msgspec

from pyroclast.controllers.admission.faults import faults_message
from pyroclast.controllers.admission.rules.pods import budget_faults
from pyroclast.controllers.podgroups.builder import (
    PREFIX,
    build_group,
    changed_metadata,
    differs,
    generated_name,
    min_member,
    needs_group,
)
from pyroclast.controllers.podgroups.owners import read_owners
from pyroclast.controllers.podgroups.validation import PodGroupValidator
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.invalid_condition import FaultReporter
from pyroclast.controllers.runtime.keys import own_key
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.controllers.runtime.writer import means_another
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NAMESPACES, POD_GROUPS, PODS, REPLICA_SETS, STATEFUL_SETS, Resource
from pyroclast.model import wire
from pyroclast.model.api import names
from pyroclast.model.api.scheduling import PodGroup
from pyroclast.model.errors import ObjectError
from pyroclast.model.wire import Pod

__all__ = ["PodGroupCleaner", "PodGroupCreator", "build"]

_BY_GROUP: Final = "podgroups:group-name"
_WORKLOADS: Final[dict[str, Resource[Any]]] = {"ReplicaSet": REPLICA_SETS, "StatefulSet": STATEFUL_SETS}

Workload = wire.ReplicaSet | wire.StatefulSet


def build(operator: Operator, options: ControllerOptions) -> None:
    """Register the controllers with an operator."""
    PodGroupCreator(operator, options)
    PodGroupValidator(operator, options)
    if options.follows_workloads:
        PodGroupCleaner(operator, options)


class PodGroupCreator(Controller):
    """Ensures that each pod of our schedulers has a group. Its keys are pods."""

    name: ClassVar[str] = "podgroup"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch pods, groups and namespaces."""
        self._inherits = options.inherits_owner_annotations
        self._faults = FaultReporter(operator, PODS)
        self._pods: Store[Pod] = operator.store(PODS, {_BY_GROUP: _group_of})
        self._groups: Store[PodGroup] = operator.store(POD_GROUPS)
        self._namespaces: Store[wire.Namespace] = operator.store(NAMESPACES)
        self._workloads = (
            {kind: operator.store(resource) for kind, resource in _WORKLOADS.items()}
            if options.follows_workloads
            else {}
        )
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=PODS, keys=self._keys_of_pod),
                Watch(resource=POD_GROUPS, keys=self._keys_of_group),
                *(Watch(resource=_WORKLOADS[kind], keys=self._keys_of_workload) for kind in self._workloads),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Ensure that a pod has a group.

        Raises:
            ApiError: The server refused.
        """
        pod = self._pods.get(*key)
        if pod is None or not needs_group(pod, self._options.scheduler_names):
            self._faults.forget(key)
            return None
        messages = (faults_message(tuple(budget_faults(pod.metadata.annotations))), self._lack_of_replicas(pod))
        self._faults.report(pod, "; ".join(filter(None, messages)))
        is_grouped = bool(_group_of(pod))
        there = self._groups.get(pod.metadata.namespace, generated_name(pod))
        # Groups and pods have separate watches, so the deletion of a group may arrive before the end of its pods.
        if is_grouped and (there is not None or self._is_at_rest(pod) or not await self._exists(pod)):
            return None
        try:
            has_group = await self._ensure_group(pod, there)
        except (ApiError, ObjectError) as error:
            if not isinstance(error, ApiError) or not error.is_temporary:
                self._operator.record(PODS, pod, "Warning", "FailedCreatePodGroup", str(error))
            raise
        if has_group and not is_grouped:
            await self._annotate(pod)
        return None

    async def _ensure_group(self, pod: Pod, there: PodGroup | None) -> bool:
        """Create or update a pod's group. Return whether the group exists."""
        owners = await read_owners(self._operator.client, pod)
        if owners.is_controller_gone:
            return False  # the garbage collector will delete the pod, and would delete the group
        namespace = self._namespaces.get("", pod.metadata.namespace)
        desired = build_group(
            pod,
            owner_annotations=owners.annotations,
            namespace_annotations=namespace.metadata.annotations if namespace is not None else {},
            inherits=self._inherits,
        )
        if there is None:
            await self._operator.writer.create(POD_GROUPS, desired.as_json())
        elif self._follows(pod) and not owners.is_of_old_revision and differs(desired, there, inherits=self._inherits):
            await self._renew(desired, there)
        return True

    async def _renew(self, desired: PodGroup, there: PodGroup) -> None:
        """Bring the group of a workload up to date with its newest pod."""
        operations = [{"op": "add", "path": "/spec", "value": msgspec.to_builtins(desired.spec)}]
        await self._operator.writer.edit(POD_GROUPS, there.metadata, operations)
        metadata = changed_metadata(desired, there, inherits=self._inherits)
        await self._operator.writer.merge(POD_GROUPS, there.metadata, {"metadata": metadata})

    async def _exists(self, pod: Pod) -> bool:
        """Read the pod from the server, and return whether it exists and needs a group."""
        try:
            answer = await self._operator.writer.read(PODS, pod.metadata.namespace, pod.metadata.name)
        except ApiError as error:
            if error.is_not_found:
                return False
            raise
        fresh = PODS.decoder.convert(answer)
        return fresh.metadata.uid == pod.metadata.uid and needs_group(fresh, self._options.scheduler_names)

    async def _annotate(self, pod: Pod) -> None:
        """Write the group's name on the pod, unless the pod has changed meanwhile."""
        change = {"metadata": {"annotations": {names.GROUP_NAME: generated_name(pod)}}}
        try:
            # The version is a precondition, because an annotation of another controller must not be overwritten.
            await self._operator.writer.merge(PODS, pod.metadata, change, is_of_version=True)
        except ApiError as error:
            if not means_another(error):
                raise

    def _follows(self, pod: Pod) -> bool:
        """Return whether a pod's group follows its workload's changes."""
        controller = pod.metadata.controller
        return controller is not None and controller.kind in self._workloads

    def _is_at_rest(self, pod: Pod) -> bool:
        """Return whether a pod's workload has 0 replicas, so that its group is not needed."""
        workload = self._workload_of(pod)
        return workload is not None and has_zero_replicas(workload)

    def _workload_of(self, pod: Pod) -> Workload | None:
        """Return the replica set or stateful set of a pod, where they are followed."""
        controller = pod.metadata.controller
        if controller is None or controller.kind not in self._workloads:
            return None
        workload: Workload | None = self._workloads[controller.kind].get(pod.metadata.namespace, controller.name)
        return workload if workload is not None and workload.metadata.uid == controller.uid else None

    def _lack_of_replicas(self, pod: Pod) -> str:
        """Return a message if a workload has fewer replicas than its gang needs, as in a rollout of a Deployment."""
        workload = self._workload_of(pod)
        if workload is None or not self._inherits:
            return ""
        replicas, minimum = workload.spec.replicas, min_member(workload.metadata.annotations)
        if replicas is None or not 0 < replicas < minimum:
            return ""
        kind = pod.metadata.controller.kind if pod.metadata.controller is not None else ""
        return (
            f"{kind} {workload.metadata.name} asks for {replicas} of the {minimum} pods that its gang needs: they wait "
            f"until it asks for {minimum}; a Deployment does in its rollout when maxSurge is at least {minimum}"
        )

    def _keys_of_pod(self, old: Pod | None, new: Pod | None) -> Iterable[Key]:
        if new is None and old is not None:
            self._faults.forget(key_of(old))
        if new is None or not needs_group(new, self._options.scheduler_names):
            return ()
        group = _group_of(new)
        is_settled = bool(group) and self._groups.get(new.metadata.namespace, group[0]) is not None
        return () if is_settled else (key_of(new),)

    def _keys_of_group(self, old: PodGroup | None, new: PodGroup | None) -> Iterable[Key]:
        """Return the members of a deleted group, because they need a new one."""
        if new is not None or old is None or not old.metadata.name.startswith(PREFIX):
            return ()
        return self._members(*key_of(old))

    def _keys_of_workload(self, _: Workload | None, new: Workload | None) -> Iterable[Key]:
        """Return the members of a workload that was scaled up and has no group. At 0 replicas its group was deleted."""
        if new is None or has_zero_replicas(new):
            return ()
        group = (new.metadata.namespace, PREFIX + new.metadata.uid)
        return () if self._groups.get(*group) is not None else self._members(*group)

    def _members(self, namespace: str, group: str) -> list[Key]:
        return [key_of(pod) for pod in self._pods.by(_BY_GROUP, group) if pod.metadata.namespace == namespace]


class PodGroupCleaner(Controller):
    """Deletes the groups of workloads that were scaled to nothing. Its keys are groups."""

    name: ClassVar[str] = "podgroup-cleaner"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch groups and workloads."""
        self._groups: Store[PodGroup] = operator.store(POD_GROUPS)
        self._workloads: dict[str, Store[Any]] = {
            kind: operator.store(resource) for kind, resource in _WORKLOADS.items()
        }
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=POD_GROUPS, keys=own_key),
                *(Watch(resource=resource, keys=_key_of_workload) for resource in _WORKLOADS.values()),
            ],
            workers=options.workers_of(PodGroupCreator.name),
        )

    async def reconcile(self, key: Key) -> float | None:
        """Delete a group whose workload has 0 replicas.

        Raises:
            ApiError: The server refused.
        """
        group = self._groups.get(*key)
        controller = group.metadata.controller if group is not None else None
        if group is None or controller is None or controller.kind not in self._workloads:
            return None
        workload = self._workloads[controller.kind].get(group.metadata.namespace, controller.name)
        if workload is None or group.metadata.name != PREFIX + workload.metadata.uid:
            return None
        if has_zero_replicas(workload) and not group.metadata.deletion_timestamp:
            await self._operator.writer.delete(POD_GROUPS, group.metadata)
        return None


def has_zero_replicas(workload: Workload) -> bool:
    """Return whether a workload was scaled to 0 replicas. The default is 1 replica."""
    return workload.spec.replicas == 0


def _group_of(pod: Pod) -> tuple[str, ...]:
    group = pod.metadata.annotations.get(names.GROUP_NAME, "")
    return (group,) if group else ()


def _key_of_workload(_: Workload | None, new: Workload | None) -> Iterable[Key]:
    return ((new.metadata.namespace, PREFIX + new.metadata.uid),) if new is not None else ()
