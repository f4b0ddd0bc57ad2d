"""A cluster of dictionaries with one Job controller, which can be killed at any of its writes."""

import asyncio
import copy
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pyroclast.controllers.jobs.plugin_objects import KINDS
from pyroclast.controllers.jobs.reconciler import JobReconciler
from pyroclast.controllers.jobs.stores import INDEXES, Stores
from pyroclast.controllers.runtime.expectations import Expectations
from pyroclast.controllers.runtime.store import Store
from pyroclast.controllers.runtime.writer import Made
from pyroclast.kube.api.errors import ApiConflictError, ApiError
from pyroclast.kube.api.resources import (
    COMMANDS,
    JOBS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
    Resource,
)
from pyroclast.kube.writes.events import Regarding
from pyroclast.model.wire.times import time_text

NAMESPACE = "team"
START = 1_767_225_600.0

Json = dict[str, Any]
At = tuple[str, str, str]
"""Plural, namespace, name."""


class KilledError(BaseException):
    """The process ended here."""


@dataclass
class StoppedClock:
    """Time that the test moves."""

    now: float = START
    ahead: float = 0.0
    """How far the time of day was set from what it is for the server."""

    def monotonic(self) -> float:
        """Tell it."""
        return self.now

    def wall(self) -> float:
        """Tell it as it was set."""
        return self.now + self.ahead

    async def sleep(self, seconds: float) -> None:
        """Move it."""
        self.now += seconds


@dataclass
class World:
    """The server: objects, and stores that show each change at once."""

    clock: StoppedClock = field(default_factory=StoppedClock)
    objects: dict[At, Json] = field(default_factory=dict)
    events: list[tuple[str, str, str]] = field(default_factory=list)
    """Type, reason and message."""
    writes: int = 0
    kills: dict[int, bool] = field(default_factory=dict)
    """Writes at which the process is killed; True when the server took the write before."""
    is_graceful: bool = False
    """Pods that are deleted stay until `reap`."""
    refusals: dict[str, ApiError] = field(default_factory=dict)
    """What the server says to writes of a plural."""
    lag: random.Random | None = None
    """Chance by which the stores lag behind the server, each on its own; None: they show everything at once."""
    deaths: int = 0
    commands: int = 0

    def __post_init__(self) -> None:
        """Begin with the default queue."""
        self.revision = 0
        self.unseen: dict[str, deque[Callable[[], None]]] = {}
        self.shown: dict[str, int] = {}
        self.stores = Stores(
            jobs=Store(INDEXES["jobs"], plural="jobs", version=self._version_of("jobs")),
            pods=Store(INDEXES["pods"], plural="pods", version=self._version_of("pods")),
            pod_groups=Store(plural="podgroups", version=self._version_of("podgroups")),
            queues=Store(INDEXES["queues"], plural="queues", version=self._version_of("queues")),
            commands=Store(INDEXES["commands"], plural="commands", version=self._version_of("commands")),
            claims=Store(plural="persistentvolumeclaims", version=self._version_of("persistentvolumeclaims")),
            priority_classes=Store(plural="priorityclasses", version=self._version_of("priorityclasses")),
            namespaces=Store(plural="namespaces", version=self._version_of("namespaces")),
        )
        self._stores: dict[str, tuple[Resource[Any], Store[Any]]] = {
            "jobs": (JOBS, self.stores.jobs),
            "pods": (PODS, self.stores.pods),
            "podgroups": (POD_GROUPS, self.stores.pod_groups),
            "queues": (QUEUES, self.stores.queues),
            "commands": (COMMANDS, self.stores.commands),
            "persistentvolumeclaims": (PERSISTENT_VOLUME_CLAIMS, self.stores.claims),
            "priorityclasses": (PRIORITY_CLASSES, self.stores.priority_classes),
            "namespaces": (NAMESPACES, self.stores.namespaces),
        }
        self.queue("default")
        self.restart()

    def _version_of(self, plural: str) -> Callable[[], str]:
        return lambda: str(self.shown.get(plural, self.revision) if self.lag else self.revision)

    def deliver(self, plural: str | None = None) -> None:
        """Have a store, or all, show what it does not show yet."""
        for name in [plural] if plural else list(self.unseen):
            while self.unseen.get(name):
                self.unseen[name].popleft()()

    def deliver_some(self) -> None:
        """Have each store show a part of what it does not show yet."""
        if self.lag:
            for waiting in self.unseen.values():
                for _ in range(self.lag.randint(0, len(waiting))):
                    waiting.popleft()()

    @property
    def is_behind(self) -> bool:
        """Some store does not show everything."""
        return any(self.unseen.values())

    # --- the controller ----------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Begin a new process."""
        self.reconciler = JobReconciler(
            stores=self.stores,
            writer=self,  # type: ignore[arg-type] # has its methods
            events=self,
            expectations=Expectations(clock=self.clock),
            clock=self.clock,
        )

    def record(self, about: Regarding, type_: str, reason: str, message: str) -> None:  # noqa: ARG002  the recorder's
        """Note an event."""
        self.events.append((type_, reason, message))

    def reasons(self) -> list[str]:
        """Return the reasons of all events."""
        return [reason for _, reason, _ in self.events]

    async def step(self, name: str = "job") -> float | None:
        """Reconcile once."""
        return await self.reconciler.reconcile((NAMESPACE, name))

    async def rest(self, name: str = "job", *, scheduler: bool = True) -> float | None:
        """Reconcile until nothing is written any more, as often as the process is killed."""
        requeue_after = None
        for _ in range(200):
            before = self.revision
            if scheduler:
                self.admit()
            was_behind = self.is_behind
            self.deliver_some()
            try:
                requeue_after = await self.step(name)
            except KilledError:
                self.deaths += 1
                self.deliver()  # a new process lists everything
                self.restart()
                continue
            except ApiError:
                before = -1 if self.refusals == {} else self.revision
            if self.revision == before and not was_behind and not self.is_behind:
                return requeue_after
        raise AssertionError("it never comes to rest")

    def run(self, name: str = "job") -> float | None:
        """Come to rest, from a test that is not asynchronous."""
        return asyncio.run(self.rest(name))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.now += seconds

    # --- the writer --------------------------------------------------------------------------------------------------

    async def create(self, resource: Resource[Any], body: Mapping[str, Any]) -> Made:
        """Create an object, or return the one of its name."""
        at = (resource.plural, body["metadata"].get("namespace", ""), body["metadata"]["name"])

        def apply() -> Made:
            if at in self.objects:
                return Made(object=copy.deepcopy(self.objects[at]), is_new=False)
            whole = {"apiVersion": resource.api_version, "kind": resource.kind, **copy.deepcopy(dict(body))}
            return Made(object=self.put(resource.plural, whole), is_new=True)

        made: Made = self._write(resource.plural, apply)
        return made

    async def read(self, resource: Resource[Any], namespace: str, name: str) -> Json:
        """Return an object."""
        return copy.deepcopy(self._found((resource.plural, namespace, name)))

    async def merge(
        self,
        resource: Resource[Any],
        metadata: Any,
        change: Mapping[str, Any],
        *,
        subresource: str = "",
        is_of_version: bool = False,
    ) -> Json:
        """Merge a change."""

        def apply() -> Json:
            found = self._meant(resource, metadata)
            if is_of_version and found["metadata"]["resourceVersion"] != metadata.resource_version:
                raise ApiConflictError(409, "Conflict", "the object has been modified")
            new = merged(found, change)
            if subresource == "status":
                new = {**found, "status": new.get("status", {})}
            elif resource is JOBS:
                new = {**new, "status": found.get("status", {})}
            return self.put(resource.plural, new)

        answer: Json = self._write(resource.plural, apply)
        return answer

    async def edit(self, resource: Resource[Any], metadata: Any, operations: Sequence[Mapping[str, Any]]) -> Json:
        """Apply JSON patch operations `add` and `test`."""

        def apply() -> Json:
            new = copy.deepcopy(self._meant(resource, metadata))
            for operation in operations:
                *path, last = operation["path"].split("/")[1:]
                target: Any = new
                for name in path:
                    target = target[int(name)] if isinstance(target, list) else target[name]
                if operation["op"] == "test":
                    assert target[last] == operation["value"]
                else:
                    target[last] = operation["value"]
            return self.put(resource.plural, new)

        answer: Json = self._write(resource.plural, apply)
        return answer

    async def delete(self, resource: Resource[Any], metadata: Any, **_: Any) -> bool:
        """Delete an object."""
        at = (resource.plural, metadata.namespace, metadata.name)

        def apply() -> bool:
            found = self.objects.get(at)
            if found is None or found["metadata"]["uid"] != metadata.uid:
                return False
            if resource is PODS and self.is_graceful and found.get("status", {}).get("phase") == "Running":
                found = copy.deepcopy(found)
                found["metadata"].setdefault("deletionTimestamp", time_text(self.clock.now))
                self.put("pods", found)
            else:
                self.remove(*at)
            return True

        was_there: bool = self._write(resource.plural, apply)
        return was_there

    def _write(self, plural: str, apply: Any) -> Any:
        self.writes += 1
        is_taken = self.kills.pop(self.writes, None)
        if is_taken is False:
            raise KilledError
        if plural in self.refusals:
            raise self.refusals[plural]
        answer = apply()
        if is_taken:
            raise KilledError
        return copy.deepcopy(answer)

    def _found(self, at: At) -> Json:
        if at not in self.objects:
            raise ApiError(404, "NotFound", f"{at[0]} {at[2]} not found")
        return self.objects[at]

    def _meant(self, resource: Resource[Any], metadata: Any) -> Json:
        found = self._found((resource.plural, metadata.namespace, metadata.name))
        if found["metadata"]["uid"] != metadata.uid:
            raise ApiConflictError(409, "Conflict", "metadata.uid differs")
        return found

    # --- the objects -------------------------------------------------------------------------------------------------

    def put(self, plural: str, whole: Json) -> Json:
        """Store an object and show it."""
        metadata = whole["metadata"] = dict(whole["metadata"])
        at = (plural, metadata.get("namespace", ""), metadata["name"])
        before = self.objects.get(at)
        if before is not None and _undated(before) == _undated(whole):
            return before
        self.revision += 1
        metadata["resourceVersion"] = str(self.revision)
        metadata.setdefault("uid", f"{plural}-{metadata['name']}-{self.revision}")
        metadata.setdefault("creationTimestamp", time_text(self.clock.now))
        if plural == "pods":
            whole.setdefault("status", {"phase": "Pending"})
        changed_spec = before is None or before.get("spec") != whole.get("spec")
        metadata["generation"] = metadata.get("generation", 0) + changed_spec
        self.objects[at] = whole
        if plural in self._stores:
            resource, store = self._stores[plural]
            new = resource.decoder.convert(msgspec.json.decode(msgspec.json.encode(whole)))

            def show() -> None:
                old = store.get(at[1], at[2])
                store.added(new) if old is None else store.updated(old, new)

            self._show(plural, show)
        return whole

    def _show(self, plural: str, show: Callable[[], None]) -> None:
        revision = self.revision

        def shown() -> None:
            show()
            self.shown[plural] = revision

        if self.lag:
            self.unseen.setdefault(plural, deque()).append(shown)
        else:
            shown()

    def remove(self, plural: str, namespace: str, name: str) -> None:
        """Drop an object."""
        self.revision += 1
        self.objects.pop((plural, namespace, name))
        if plural in self._stores:
            store = self._stores[plural][1]
            self._show(plural, lambda: store.deleted(store.get(namespace, name)))

    def queue(self, name: str, *, state: str = "Open", **spec: Any) -> None:
        """Have a queue."""
        self.put("queues", {"metadata": {"name": name}, "spec": spec, "status": {"state": state}})

    def job(self, name: str = "job", *tasks: Json, **spec: Any) -> None:
        """Create a Job; without tasks, one of two pods."""
        body = {"tasks": list(tasks) or [task()], "queue": "default", "maxRetry": 3, **spec}
        metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
        self.put("jobs", {"metadata": metadata, "spec": body, "status": {}})

    def command(self, action: str, job: str = "job", *, uid: str | None = None) -> None:
        """Ask for an action."""
        target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job, "uid": uid or f"uid-{job}"}
        self.commands += 1
        name = f"{job}-{action.lower()}-{self.commands}"
        body = {"metadata": {"name": name, "namespace": NAMESPACE}, "action": action, "target": target}
        self.put("commands", body)

    def change_job(self, job: str = "job", **spec: Any) -> None:
        """Change a Job's spec."""
        found = copy.deepcopy(self._found(("jobs", NAMESPACE, job)))
        found["spec"] |= spec
        self.put("jobs", found)

    def scale(self, task_name: str, replicas: int, job: str = "job") -> None:
        """Change the replicas of a task."""
        tasks = copy.deepcopy(self._found(("jobs", NAMESPACE, job))["spec"]["tasks"])
        for each in tasks:
            if each["name"] == task_name:
                each["replicas"] = replicas
        self.change_job(job, tasks=tasks)

    def status(self, job: str = "job") -> Json:
        """Return the status of a Job."""
        status: Json = self._found(("jobs", NAMESPACE, job)).get("status", {})
        return status

    def phase(self, job: str = "job") -> str:
        """Return the phase of a Job."""
        phase: str = self.status(job).get("state", {}).get("phase", "")
        return phase

    def group(self, job: str = "job") -> Json | None:
        """Return the pod group of a Job."""
        return self.objects.get(("podgroups", NAMESPACE, f"{job}-uid-{job}"))

    def admit(self, phase: str = "Inqueue") -> None:
        """Do what the scheduler does: let gangs in."""
        for at, found in list(self.objects.items()):
            if at[0] == "podgroups" and not found.get("status", {}).get("phase"):
                self.put("podgroups", {**copy.deepcopy(found), "status": {"phase": phase}})

    def set_group(self, phase: str, job: str = "job", **status: Any) -> None:
        """Have the scheduler say something about a gang."""
        group = self.group(job)
        assert group is not None
        self.put("podgroups", {**copy.deepcopy(group), "status": {"phase": phase, **status}})

    def pods(self) -> list[str]:
        """Name the pods that are there and stay."""
        return sorted(
            at[2]
            for at, pod in self.objects.items()
            if at[0] == "pods" and not pod["metadata"].get("deletionTimestamp")
        )

    def pod(self, name: str) -> Json:
        """Return a pod."""
        return self._found(("pods", NAMESPACE, name))

    def set_pod(self, name: str, phase: str, *, exit_code: int | None = None, restarts: int = 0) -> None:
        """Have the kubelet say something about a pod."""
        now = time_text(self.clock.now)
        ended = {"exitCode": exit_code if exit_code is not None else int(phase == "Failed"), "finishedAt": now}
        state = {"terminated": ended} if phase in {"Succeeded", "Failed"} else {"running": {"startedAt": now}}
        container = {"name": "main", "ready": phase == "Running", "restartCount": restarts, "state": state}
        if restarts:
            container["lastState"] = {"terminated": ended}
        status = {"phase": phase, "startTime": now, "containerStatuses": [container]}
        self.put("pods", {**copy.deepcopy(self.pod(name)), "status": status})

    def set_pods(self, phase: str, *names: str) -> None:
        """Have the kubelets say the same about some pods, or about all."""
        for name in names or self.pods():
            self.set_pod(name, phase)

    def evict(self, name: str) -> None:
        """Delete a pod as another user."""
        self.remove("pods", NAMESPACE, name)

    def begin_to_evict(self, name: str) -> None:
        """Delete a pod as another user, with a pod that takes its time to end; `reap` ends it."""
        pod = copy.deepcopy(self.pod(name))
        pod["metadata"]["deletionTimestamp"] = time_text(self.clock.now)
        self.put("pods", pod)

    def reap(self) -> None:
        """Let pods that are being deleted end."""
        for at, pod in list(self.objects.items()):
            if at[0] == "pods" and pod["metadata"].get("deletionTimestamp"):
                self.remove(*at)

    def owned(self) -> list[tuple[str, str]]:
        """Name the objects of plugins."""
        plurals = {kind.plural for kind in KINDS.values()}
        return sorted((at[0], at[2]) for at in self.objects if at[0] in plurals)


def task(name: str = "worker", replicas: int = 2, **more: Any) -> Json:
    """Describe a task."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [container]}}, **more}


def policy(action: str, *events: str, **more: Any) -> Json:
    """Describe a policy."""
    return {"action": action, **({"events": list(events)} if events else {}), **more}


def merged(old: Any, change: Any) -> Any:
    """Apply a merge patch."""
    if not isinstance(change, Mapping):
        return change
    new = dict(old) if isinstance(old, Mapping) else {}
    for name, value in change.items():
        if value is None:
            new.pop(name, None)
        else:
            new[name] = merged(new.get(name), value)
    return new


def _undated(whole: Json) -> Json:
    return {**whole, "metadata": {k: v for k, v in whole["metadata"].items() if k != "resourceVersion"}}
