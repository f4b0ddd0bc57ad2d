"""Kubelets: the lives of all pods on all hollow nodes, followed by two watches.

    bound ──admitted──▶ starting ──after a delay──▶ running ──after its duration──▶ ended
      │                                                │
      └──refused──▶ ended                deleted ──▶ leaving ──after its grace──▶ ended ──▶ gone

All that must outlive this process is in the objects: a new process lists them and goes on where the old one was.
Pods that run already take their room before any other is admitted.
"""

import asyncio
import enum
import random
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import structlog

from pyroclast.emulator.clock import Clock, parse_time
from pyroclast.emulator.hollow.admission import Room
from pyroclast.emulator.hollow.statuses import ended, refused, running
from pyroclast.emulator.hollow.template import HOLLOW_LABEL
from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NODES, PODS
from pyroclast.kube.reflector import Reflector
from pyroclast.model import wire

__all__ = ["DURATION", "RESULT", "TERMINATION", "KubeletOptions", "Kubelets", "seconds_in"]

DURATION: Final = "emulator.pyroclast.io/duration"
"""Pod annotation: how long it runs, seconds or a Go duration; without it, for ever."""
RESULT: Final = "emulator.pyroclast.io/result"
"""Pod annotation: `Succeeded` (the default) or `Failed`."""
TERMINATION: Final = "emulator.pyroclast.io/termination"
"""Pod annotation: how long it takes to end when it is deleted; its grace period at most."""

_ENDED: Final = frozenset({"Succeeded", "Failed"})
_ERROR: Final = 1
_TERMINATED: Final = 128 + 15
"""Exit status of a program that SIGTERM ended, as in a shell."""
_log = structlog.get_logger(__name__)

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_PLAIN = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletOptions:
    """Times of hollow kubelets."""

    start_seconds: float = 0.5
    """Time from binding to running."""
    termination_seconds: float = 1.0
    """Time from deletion to the end, for pods without their own; at most their grace period."""
    concurrency: int = 32
    """Maximum number of requests at a time."""


class Stage(enum.IntEnum):
    """Stage of a pod; it never decreases."""

    STARTING = 1
    RUNNING = 2
    ENDED = 3
    LEAVING = 4


@dataclass(slots=True, kw_only=True)
class _Life:
    pod: wire.Pod
    stage: Stage
    timer: asyncio.TimerHandle | None = None
    backoff: Backoff | None = None
    """Since the first failure; most lives know none, and a source of chance is dear to seed."""


class _Nodes:
    """Keeps the rooms in step with the node objects."""

    def __init__(self, kubelets: "Kubelets") -> None:
        self._kubelets = kubelets

    def added(self, new: wire.Node) -> None:
        self._kubelets.node_seen(new)

    def updated(self, old: wire.Node, new: wire.Node) -> None:  # noqa: ARG002  the shape of a handler
        self._kubelets.node_seen(new)

    def deleted(self, old: wire.Node) -> None:
        self._kubelets.rooms.pop(old.metadata.name, None)


class _Pods:
    """Passes on what happens to pods."""

    def __init__(self, kubelets: "Kubelets") -> None:
        self._kubelets = kubelets

    def added(self, new: wire.Pod) -> None:
        self._kubelets.pod_seen(new)

    def updated(self, old: wire.Pod, new: wire.Pod) -> None:  # noqa: ARG002  the shape of a handler
        self._kubelets.pod_seen(new)

    def deleted(self, old: wire.Pod) -> None:
        self._kubelets.pod_gone(old)


class Kubelets:
    """One process for all hollow nodes."""

    def __init__(
        self,
        client: Client,
        options: KubeletOptions | None = None,
        *,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Prepare; `run` does.

        Args:
            client: Speaks to the server.
            options: How fast.
            clock: For times in statuses.
            chance: For jitter.
        """
        self.rooms: dict[str, Room] = {}
        """Capacity in use, by node name."""
        self.ready = asyncio.Event()
        """Nodes and pods were read, and every kubelet is at work."""
        self._client = client
        self._options = options or KubeletOptions()
        self._clock = clock or Clock()
        self._lives: dict[str, _Life] = {}
        self._jobs: deque[tuple[str, Callable[[_Life], Awaitable[None]]]] = deque()
        self._wake = asyncio.Event()
        self._addresses = 0
        # The server sends bound pods alone: unbound ones are no kubelet's business.
        self._pods = Reflector(client, PODS, [_Pods(self)], field_selector="spec.nodeName!=", chance=chance)
        self._nodes = Reflector(client, NODES, [_Nodes(self)], label_selector=HOLLOW_LABEL, chance=chance)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._nodes.run())
                await self._nodes.synced.wait()
                group.create_task(self._pods.run())
                await self._pods.synced.wait()
                self._begin()
                for _ in range(self._options.concurrency):
                    group.create_task(self._work())
        finally:
            for life in self._lives.values():
                if life.timer is not None:
                    life.timer.cancel()

    def node_seen(self, node: wire.Node) -> None:
        """A node appeared or changed."""
        name = node.metadata.name
        room = self.rooms.get(name)
        if room is not None:
            room.node = node
            return
        self.rooms[name] = Room(node=node)
        if self.ready.is_set():
            for pod in list(self._pods.objects.values()):
                if pod.spec.node_name == name:
                    self.pod_seen(pod)

    def pod_seen(self, pod: wire.Pod) -> None:
        """A bound pod appeared or changed."""
        room = self.rooms.get(pod.spec.node_name)
        if room is None:
            return
        life = self._lives.get(pod.metadata.uid)
        if life is not None:
            life.pod = pod
        if pod.metadata.deletion_timestamp:
            self._leave(pod, room)
        elif pod.status.phase in _ENDED:
            self._end(pod, room)
        elif pod.status.phase == "Running":
            self._live(pod, room)
        elif life is None and self.ready.is_set():
            self._admit(pod, room)

    def pod_gone(self, pod: wire.Pod) -> None:
        """A pod's object is gone, and with it the pod."""
        life = self._lives.pop(pod.metadata.uid, None)
        if life is not None and life.timer is not None:
            life.timer.cancel()
        room = self.rooms.get(pod.spec.node_name)
        if room is not None:
            room.release(pod.metadata.uid)

    def _begin(self) -> None:
        """Admit what arrived before all that runs already was known."""
        self.ready.set()
        for pod in list(self._pods.objects.values()):
            self.pod_seen(pod)

    def _admit(self, pod: wire.Pod, room: Room) -> None:
        refusal = room.refuse(pod)
        if refusal is not None:
            _log.debug("pod_refused", pod=pod.metadata.key, node=pod.spec.node_name, reason=refusal.reason)
            self._advance(pod, Stage.ENDED)
            status = refused(refusal.reason, refusal.message, self._clock.now())
            self._enqueue(pod.metadata.uid, lambda life: self._write_status(life, status))
            return
        room.take(pod)
        self._advance(pod, Stage.STARTING)
        self._after(self._options.start_seconds, pod, self._write_running)

    def _live(self, pod: wire.Pod, room: Room) -> None:
        """It runs: it holds its room, whatever else, and ends when its time has come."""
        room.take(pod)
        if not self._advance(pod, Stage.RUNNING):
            return
        duration = seconds_in(pod.metadata.annotations.get(DURATION, ""))
        if duration is not None:
            age = self._clock.seconds() - parse_time(pod.status.start_time) if pod.status.start_time else 0.0
            # Times have whole seconds: what started within the last two counts as started now.
            self._after(duration if age < 2 else max(0.0, duration - age), pod, self._write_ended)

    def _end(self, pod: wire.Pod, room: Room) -> None:
        room.release(pod.metadata.uid)
        self._advance(pod, Stage.ENDED)

    def _leave(self, pod: wire.Pod, room: Room) -> None:
        """It is being deleted: it ends within its grace, and then its object goes."""
        uid = pod.metadata.uid
        life = self._lives.get(uid)
        was_alive = pod.status.phase == "Running" and (life is None or life.stage == Stage.RUNNING)
        if pod.status.phase == "Running":
            room.take(pod)
        elif pod.status.phase in _ENDED:
            # its containers are gone: the room is free although the object stays for a moment, as on a kubelet
            room.release(uid)
        if not self._advance(pod, Stage.LEAVING):
            return
        grace = float(pod.metadata.deletion_grace_period_seconds or 0)
        own_seconds = seconds_in(pod.metadata.annotations.get(TERMINATION, ""))
        takes = self._options.termination_seconds if own_seconds is None else own_seconds
        if was_alive and grace:
            self._after(min(grace, takes), pod, self._write_terminated)
        else:
            self._after(0.0, pod, self._delete)

    def _advance(self, pod: wire.Pod, stage: Stage) -> bool:
        """Advance a pod to a stage. Return whether the stage changed."""
        uid = pod.metadata.uid
        life = self._lives.get(uid)
        if life is None:
            self._lives[uid] = _Life(pod=pod, stage=stage)
            return True
        if life.stage >= stage:
            return False
        life.stage = stage
        if life.timer is not None:
            life.timer.cancel()
            life.timer = None
        return True

    def _after(self, seconds: float, pod: wire.Pod, job: Callable[[_Life], Awaitable[None]]) -> None:
        uid = pod.metadata.uid
        if seconds <= 0:
            self._enqueue(uid, job)
            return
        self._lives[uid].timer = asyncio.get_running_loop().call_later(seconds, self._enqueue, uid, job)

    def _enqueue(self, uid: str, job: Callable[[_Life], Awaitable[None]]) -> None:
        self._jobs.append((uid, job))
        self._wake.set()

    async def _work(self) -> None:
        while True:
            if not self._jobs:
                self._wake.clear()
                await self._wake.wait()
                continue
            uid, job = self._jobs.popleft()
            life = self._lives.get(uid)
            if life is not None:
                await self._do(uid, life, job)

    async def _do(self, uid: str, life: _Life, job: Callable[[_Life], Awaitable[None]]) -> None:
        stage = life.stage
        try:
            await job(life)
        except ApiError as error:
            if error.is_temporary and life.stage == stage:
                life.backoff = life.backoff or Backoff()
                wait = life.backoff.next_wait(error.retry_after)
                life.timer = asyncio.get_running_loop().call_later(wait, self._enqueue, uid, job)
            elif not error.is_temporary and error.status not in {404, 409}:
                _log.warning("kubelet_refused", pod=life.pod.metadata.key, error=str(error))

    async def _write_running(self, life: _Life) -> None:
        if life.stage != Stage.STARTING:
            return  # deleted meanwhile
        pod = life.pod
        self._addresses += 1
        number = self._addresses
        status = running(
            pod,
            self._clock.now(),
            host_ip=_internal_ip(self.rooms.get(pod.spec.node_name)),
            pod_ip=f"10.{(number >> 16) & 255}.{(number >> 8) & 255}.{number & 255}",
        )
        await self._write_status(life, status)

    async def _write_ended(self, life: _Life) -> None:
        if life.stage != Stage.RUNNING:
            return
        exit_code = _ERROR if life.pod.metadata.annotations.get(RESULT) == "Failed" else 0
        await self._write_status(life, ended(life.pod, self._clock.now(), exit_code=exit_code))

    async def _write_terminated(self, life: _Life) -> None:
        """As kubelets do since Kubernetes 1.27, whose pods reach a terminal phase before they go."""
        await self._write_status(life, ended(life.pod, self._clock.now(), exit_code=_TERMINATED))
        self._enqueue(life.pod.metadata.uid, self._delete)

    async def _write_status(self, life: _Life, status: dict[str, Any]) -> None:
        metadata = life.pod.metadata
        await self._client.request(
            "PATCH",
            PODS.path(metadata.namespace, metadata.name, "status"),
            body=msgspec.json.encode({"metadata": {"uid": metadata.uid}, "status": status}),
            media_type=MediaType.STRATEGIC_PATCH,
        )

    async def _delete(self, life: _Life) -> None:
        metadata = life.pod.metadata
        await self._client.request(
            "DELETE",
            PODS.path(metadata.namespace, metadata.name),
            body=msgspec.json.encode(
                {
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "gracePeriodSeconds": 0,
                    "preconditions": {"uid": metadata.uid},
                }
            ),
        )


def _internal_ip(room: Room | None) -> str:
    addresses = room.node.status.addresses if room is not None else ()
    return next((found.address for found in addresses if found.type == "InternalIP"), "127.0.0.1")


def seconds_in(text: str) -> float | None:
    """Read a duration; None for what is none."""
    if _PLAIN.fullmatch(text):
        return float(text)
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        return None
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts)
