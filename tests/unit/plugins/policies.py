"""Clusters in a few lines for tests of policies: objects in, an open session with configured plugins out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pyroclast.actions.registry import register_built_in as register_actions
from pyroclast.cache.state import ClusterState
from pyroclast.framework.configuration import parse
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point, Registered
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.model import wire
from pyroclast.model.arrays import FloatArray
from pyroclast.model.ids import NodeName
from pyroclast.model.plan import Plan
from pyroclast.model.queues import Queue
from pyroclast.model.report import Sample
from pyroclast.model.tasks import Task
from pyroclast.model.usage import NodeUsage
from pyroclast.plugins.registry import register_built_in

GIB = 2**30
MIB = 2**20


def registry() -> Registry:
    """Return all that is built in."""
    made = Registry()
    register_built_in(made)
    register_actions(made)
    return made


def node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[wire.Taint] = (),
    images: Mapping[str, int] | None = None,
    annotations: Mapping[str, str] | None = None,
    **others: str,
) -> wire.Node:
    """Return a node; `images` are sizes by name, further keywords are devices (`gpu="4"` is `nvidia.com/gpu`)."""
    held = tuple(wire.ContainerImage(names=(image,), size_bytes=size) for image, size in (images or {}).items())
    return wire.Node(
        metadata=wire.ObjectMeta(name=name, uid=name, labels=dict(labels or {}), annotations=dict(annotations or {})),
        spec=wire.NodeSpec(taints=tuple(taints)),
        status=wire.NodeStatus(
            allocatable={"cpu": cpu, "memory": memory, "pods": str(pods), **_devices(others)}, images=held
        ),
    )


def _devices(amounts: Mapping[str, str]) -> dict[str, str]:
    return {"nvidia.com/gpu" if name == "gpu" else f"example.com/{name}": amount for name, amount in amounts.items()}


def requests(cpu: str = "", memory: str = "", **others: str) -> dict[str, str]:
    """Return a resource list without what is empty."""
    return {name: amount for name, amount in (("cpu", cpu), ("memory", memory), *_devices(others).items()) if amount}


def pod(
    name: str,
    *,
    job: str = "job",
    on: str = "",
    namespace: str = "ns",
    phase: str = "",
    cpu: str = "1",
    memory: str = "1Gi",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    leaving: bool = False,
    owner: wire.OwnerReference | None = None,
    containers: Sequence[wire.Container] = (),
    spec: Mapping[str, Any] | None = None,
    **others: str,
) -> wire.Pod:
    """Return a pod: running where `on` is given, else pending; further keywords are devices."""
    main = wire.Container(name="c", resources=wire.ResourceRequirements(requests=requests(cpu, memory, **others)))
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name=name,
            namespace=namespace,
            uid=name,
            labels=dict(labels or {}),
            annotations={"scheduling.k8s.io/group-name": job, **(annotations or {})} if job else {},
            owner_references=() if owner is None else (owner,),
            deletion_timestamp="2026-01-01T00:00:00Z" if leaving else "",
        ),
        spec=wire.PodSpec(
            scheduler_name="volcano", node_name=on, containers=tuple(containers) or (main,), **dict(spec or {})
        ),
        status=wire.PodStatus(phase=phase or ("Running" if on else "Pending")),
    )


def group(
    name: str,
    *,
    queue: str = "default",
    namespace: str = "ns",
    minimum: int = 1,
    phase: str = "Inqueue",
    created: str = "2026-01-01T00:00:00Z",
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> wire.PodGroup:
    """Return a group; further keywords are fields of its specification."""
    return wire.PodGroup(
        metadata=wire.ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"group-{name}",
            creation_timestamp=created,
            annotations=dict(annotations or {}),
        ),
        spec=wire.PodGroupSpec(min_member=minimum, queue=queue, **spec),
        status=wire.PodGroupStatus(phase=phase),
    )


def queue(
    name: str,
    *,
    weight: int = 1,
    guarantee: Mapping[str, str] | None = None,
    state: str = "Open",
    hierarchy: str = "",
    weights: str = "",
    **spec: Any,
) -> wire.Queue:
    """Return a queue; `hierarchy` and `weights` are its annotations for hierarchical DRF."""
    annotations = {"volcano.sh/hierarchy": hierarchy, "volcano.sh/hierarchy-weights": weights} if hierarchy else {}
    return wire.Queue(
        metadata=wire.ObjectMeta(name=name, uid=name, annotations=annotations),
        spec=wire.QueueSpec(weight=weight, guarantee=wire.Guarantee(resource=dict(guarantee or {})), **spec),
        status=wire.QueueStatus(state=state),
    )


@dataclass
class World:
    """An open session and what it committed."""

    session: Session
    plans: list[Plan] = field(default_factory=list)

    def task(self, name: str) -> Task:
        """Return a task by name, in its state of this moment."""
        return next(task for job in self.session.jobs.all() for task in job.tasks.values() if task.name == name)

    def tasks(self, *names: str) -> list[Task]:
        """Return tasks by name."""
        return [self.task(name) for name in names]

    def job(self, name: str) -> Any:
        """Return a job by name."""
        return next(job for job in self.session.jobs.all() if job.job.name == name)

    def queue(self, name: str) -> Queue:
        """Return a queue by name."""
        return next(queue for known, queue in self.session.queues.by_name.items() if known == name)

    def function(self, point: Point[Any], plugin: str = "", part: int = 0) -> Registered[Any]:
        """Return what a plugin registered at a point; `part` counts where it registered several functions."""
        return [each for each in self.session.extensions.functions(point) if plugin in ("", each.plugin)][part]

    def place(self, statement: Statement, name: str, on: str) -> None:
        """Allocate a task to a node."""
        task = self.task(name)
        column = self.session.nodes.table.column[NodeName(on)]
        job = self.session.jobs.of(task)
        assert job is not None
        assert statement.allocate(job, [task], [column]) is None

    def evict(self, statement: Statement, name: str) -> None:
        """Evict a task from its node."""
        task = self.task(name)
        job = self.session.jobs.of(task)
        assert job is not None
        assert statement.evict(job, task, "test") is None

    def scores(self, name: str, *, among: Sequence[str] = (), plugin: str = "") -> dict[str, float]:
        """Return the total of all node order functions for a task, over all nodes or some of them."""
        session, task = self.session, self.task(name)
        names = sorted(among) or [str(known) for known in session.nodes.table.names]
        columns = session.nodes.columns(np.array([session.nodes.table.column[NodeName(each)] for each in names]))
        total: FloatArray = np.zeros(len(columns))
        for each in session.extensions.functions(contract.NODE_ORDER):
            if plugin not in ("", each.plugin) or (each.cares is not None and not each.cares(task)):
                continue
            answer = each.function(task, columns)
            if answer is not None:
                total += answer if each.normalise is None else each.normalise(answer)
        assert session.extensions.failures == {}
        return dict(zip(names, total.tolist(), strict=True))

    def samples(self, metric: str) -> dict[str, float]:
        """Return the values of a metric by the values of its labels, joined with `/`."""
        return {_labels(each): each.value for each in self.session.report.samples if each.metric == metric}

    def close(self) -> None:
        """Call the close hooks of all plugins; their errors are raised."""
        self.session.extensions.close_plugins(lambda _, call: call())
        assert self.session.extensions.failures == {}


def _labels(sample: Sample) -> str:
    return "/".join(value for _, value in sample.labels)


def opened(
    *objects: Any,
    plugins: Sequence[str | Mapping[str, Any]] = (),
    tiers: Sequence[Sequence[str | Mapping[str, Any]]] = (),
    actions: str = "enqueue, allocate, backfill",
    metrics: Mapping[str, str] | None = None,
    usage: Mapping[str, NodeUsage] | None = None,
    now: float = 0.0,
    runs: Mapping[str, float] | None = None,
) -> World:
    """Open a session on objects.

    Args:
        objects: Nodes, pods, groups, queues and what else the books follow; the queue `default` is always there, and
            the group `job` when pods name it.
        plugins: One tier, in order: names, or mappings as they stand in a configuration.
        tiers: Several tiers, in place of `plugins`.
        actions: Actions of the configuration.
        metrics: Source of usage in the configuration.
        usage: What nodes were measured to use, by name.
        now: The moment, seconds since 1970.
        runs: When plugins that act from time to time last did, by instance.
    """
    books = ClusterState()
    given = {(type(each).__name__, each.metadata.name) for each in objects}
    if ("Queue", "default") not in given:
        books.apply("Queue", queue("default"))
    if ("PodGroup", "job") not in given and any(isinstance(each, wire.Pod) and _is_in_job(each) for each in objects):
        books.apply("PodGroup", group("job"))
    for each in objects:
        books.apply(type(each).__name__, each)
    books.measure({NodeName(name): each for name, each in (usage or {}).items()})
    known = registry()
    listed = [
        {"plugins": [{"name": each} if isinstance(each, str) else each for each in tier]} for tier in tiers or [plugins]
    ]
    parsed = parse(
        {"actions": actions, "tiers": listed, "metrics": metrics or {}},
        known_plugins=known.names(),
        known_actions=known.action_names(),
        argument_types=known.argument_types(),
    )
    profile = parsed.configuration.profiles[0]
    plans: list[Plan] = []
    session = Session(
        books.snapshot(),
        profile,
        cycle=1,
        generation=1,
        now=now,
        seed=0,
        outside={},
        committed=plans.append,
        settled=Settled(),
        runs=runs,
    )
    for option in profile.plugins:
        plugin = known.build_plugin(option)
        session.extensions.open_plugin(option, partial(plugin.on_session_open, session))
        closing = getattr(plugin, "on_session_close", None)
        if closing is not None:
            session.extensions.on_close(option.instance, lambda closing=closing: closing(session))  # type: ignore[misc]
    session.extensions.seal()
    assert session.extensions.failures == {}
    return World(session, plans)


def _is_in_job(each: wire.Pod) -> bool:
    return each.metadata.annotations.get("scheduling.k8s.io/group-name") == "job"


def acted(world: World) -> World:
    """Run the configured actions in a session."""
    known = registry()
    for name in world.session.extensions.profile.actions:
        world.session.action = name
        known.build_action(name, {}).execute(world.session)
    assert world.session.extensions.failures == {}
    return world


def bound(world: World) -> dict[str, str]:
    """Return the node of each pod that was bound, by name."""
    return {bind.name: bind.node for plan in world.plans for bind in plan.binds}
