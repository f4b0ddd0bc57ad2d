"""The demonstration from beginning to end."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import NODES, POD_GROUPS, PODS, QUEUES
from pyroclast.kube.reflector import Reflector
from pyroclast.model import wire
from pyroclast.scheduler.demo import processes
from pyroclast.scheduler.demo.display import Picture
from pyroclast.scheduler.demo.processes import Child, ChildError
from pyroclast.scheduler.demo.progress import cpu_fractions, measure, reason_of
from pyroclast.scheduler.demo.workload import IMPOSSIBLE, NAMESPACE, DemoGang, gangs, impossible_gang
from pyroclast.scheduler.demo.workload import QUEUES as DEMO_QUEUES

__all__ = ["Demo"]

_UP_SECONDS: Final = 60.0
_PLACED_SECONDS: Final = 120.0
_EVENTS_SECONDS: Final = 10.0
_FRAME_SECONDS: Final = 0.1
_AT_ONCE: Final = 32


@dataclass(kw_only=True)
class Demo:
    """One demonstration."""

    nodes: int
    pods: int
    keep: bool
    """Whether everything keeps running at the end, until a signal arrives."""
    folder: Path
    """Folder for kubeconfig and logs; it exists."""
    picture: Picture

    async def run(self) -> None:
        """Run the demonstration. All processes are stopped at the end, also after an error.

        Raises:
            ChildError: A process ended or was too slow.
        """
        async with AsyncExitStack() as stack:
            self.picture.say(f"starting an API server in memory with {self.nodes} hollow nodes, and the scheduler")
            emulator = await processes.start_emulator(self.folder, self.nodes)
            stack.push_async_callback(emulator.stop)
            kubeconfig = self.folder / "kubeconfig"
            await processes.until(kubeconfig.exists, emulator, seconds=_UP_SECONDS, what="answer of the API server")
            cluster = await connect(ClusterOptions(kubeconfig=str(kubeconfig)))
            client = await stack.enter_async_context(Client(cluster, component="demo", connections=_AT_ONCE))
            seen = _Seen(client, stack)
            daemon = await self._start_daemon(stack, emulator)
            await processes.until(
                lambda: len(seen.nodes.objects) >= self.nodes, emulator, daemon, seconds=_UP_SECONDS, what="nodes"
            )
            await self._place(client, seen, emulator, daemon)
            if self.keep:
                await self._linger(kubeconfig)

    async def _start_daemon(self, stack: AsyncExitStack, emulator: Child) -> Child:
        port = processes.free_port()
        daemon = await processes.start_daemon(self.folder, port)
        stack.push_async_callback(daemon.stop)
        deadline = time.monotonic() + _UP_SECONDS
        while not await processes.is_ready(port):
            emulator.check()
            daemon.check()
            if time.monotonic() > deadline:
                late = f"the scheduler was not ready after {_UP_SECONDS:.0f} s"
                raise ChildError(processes.with_logs(late, [daemon]))
            await asyncio.sleep(_FRAME_SECONDS)
        return daemon

    async def _place(self, client: Client, seen: "_Seen", *running: Child) -> None:
        submitted = gangs(self.pods)
        total = sum(gang.size for gang in submitted)
        self.picture.headline("Before")
        self.picture.nodes(cpu_fractions(seen.nodes.objects, seen.pods.objects))
        self.picture.headline(
            f"Submitting {total} pods in {len(submitted)} gangs to {len(DEMO_QUEUES)} queues, "
            f"and the gang {IMPOSSIBLE!r}, which can never fit"
        )
        begun = time.monotonic()
        submitting = asyncio.create_task(submit(client, [impossible_gang(), *submitted]))
        try:
            await self._follow(seen, submitted, begun, running)
            await submitting
        finally:
            submitting.cancel()
        self.picture.say(f"  all pods run after {time.monotonic() - begun:.1f} s")
        self.picture.headline("After")
        self.picture.finish(measure(submitted, seen.pods.objects))
        self.picture.nodes(cpu_fractions(seen.nodes.objects, seen.pods.objects))
        await self._explain_impossible_gang(client, seen, running)

    async def _follow(self, seen: "_Seen", submitted: list[DemoGang], begun: float, running: Sequence[Child]) -> None:
        with self.picture.live():
            while True:
                for child in running:
                    child.check()
                elapsed = time.monotonic() - begun
                progress = measure(submitted, seen.pods.objects)
                self.picture.show(progress, elapsed)
                if progress.is_done:
                    return
                if elapsed > _PLACED_SECONDS:
                    late = f"{progress.running} of {progress.pods} pods run after {elapsed:.0f} s"
                    raise ChildError(processes.with_logs(late, running))
                await asyncio.sleep(_FRAME_SECONDS)

    async def _explain_impossible_gang(self, client: Client, seen: "_Seen", running: Sequence[Child]) -> None:
        def reason() -> str | None:
            return reason_of(seen.groups.objects.values())

        await processes.until(
            lambda: reason() is not None,
            *running,
            seconds=_UP_SECONDS,
            what=f"condition on the PodGroup {IMPOSSIBLE!r}",
        )
        self.picture.headline(f"Why {IMPOSSIBLE!r} waits, from the condition of its PodGroup")
        self.picture.say(f"  {reason()}")
        self.picture.headline("and from the events of the group and its pods")
        for line in await self._events(client):
            self.picture.say(f"  {line}")

    async def _events(self, client: Client) -> list[str]:
        """Return the events of the impossible gang. Wait for events of its pods, which are written after binds."""
        deadline = time.monotonic() + _EVENTS_SECONDS
        while True:
            lines = await events_of(client, IMPOSSIBLE)
            if any("FailedScheduling" in line for line in lines) or time.monotonic() > deadline:
                return lines
            await asyncio.sleep(_FRAME_SECONDS)

    async def _linger(self, kubeconfig: Path) -> None:
        self.picture.headline("Everything keeps running; Ctrl-C ends it")
        self.picture.say(f"  kubectl --kubeconfig {kubeconfig} -n {NAMESPACE} get podgroups")
        await asyncio.Event().wait()


class _Seen:
    """The objects of the API server, updated by watches."""

    def __init__(self, client: Client, stack: AsyncExitStack) -> None:
        self.nodes: Reflector[wire.Node] = Reflector(client, NODES)
        self.pods: Reflector[wire.Pod] = Reflector(client, PODS, namespace=NAMESPACE)
        self.groups: Reflector[wire.PodGroup] = Reflector(client, POD_GROUPS, namespace=NAMESPACE)
        for watch in (self.nodes, self.pods, self.groups):
            task = asyncio.create_task(watch.run())
            stack.callback(task.cancel)


async def submit(client: Client, submitted: list[DemoGang]) -> None:
    """Create the namespace, the queues, the groups and their pods."""
    await client.request_json("POST", "/api/v1/namespaces", body={"metadata": {"name": NAMESPACE}})
    for queue in DEMO_QUEUES:
        await client.request_json("POST", QUEUES.collection(), body=queue.manifest())
    await _create_all(client, POD_GROUPS.collection(NAMESPACE), [gang.group() for gang in submitted])
    await _create_all(client, PODS.collection(NAMESPACE), [pod for gang in submitted for pod in gang.pods()])


async def _create_all(client: Client, path: str, manifests: list[dict[str, Any]]) -> None:
    """Create objects in order, several at a time."""
    remaining = iter(manifests)

    async def work() -> None:
        for manifest in remaining:
            await client.request_json("POST", path, body=manifest)

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))


async def events_of(client: Client, gang: str) -> list[str]:
    """Return one line for each distinct event of a group and its pods, newest last."""
    listed = await client.request_json("GET", f"/api/v1/namespaces/{NAMESPACE}/events")
    lines = {}
    for event in listed["items"]:
        regarding = event["involvedObject"]
        if regarding["name"].split("-worker-")[0] == gang:
            count = (event.get("series") or {}).get("count") or event.get("count") or 1
            lines[regarding["kind"], event["reason"], event["message"]] = (
                f"{event['type']:<8} {event['reason']:<17} {regarding['kind']:<9} x{count}  {event['message']}"
            )
    return list(lines.values())
