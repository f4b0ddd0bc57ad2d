"""Clusters in a few lines for tests of filters: objects in, a session with the predicates plugin out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pyroclast.cache.state import ClusterState
from pyroclast.framework.configuration import PluginOption, Profile, flags
from pyroclast.framework.extension import contract
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.model.plan import Plan
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.arguments import PredicatesArgs
from pyroclast.plugins.predicates.plugin import Predicates

GIB = 2**30


def meta(name: str, namespace: str = "ns", **fields: Any) -> wire.ObjectMeta:
    """Return metadata with a UID equal to the name."""
    return wire.ObjectMeta(name=name, namespace=namespace, uid=fields.pop("uid", name), **fields)


def node(
    name: str, *, pods: int = 110, taints: Sequence[wire.Taint] = (), cordoned: bool = False, **labels: str
) -> wire.Node:
    """Return a node; labels are given with `_` for what a keyword cannot hold, and the hostname is its name."""
    named = {"kubernetes.io/hostname": name, **labels}
    return wire.Node(
        metadata=wire.ObjectMeta(name=name, uid=name, labels=named),
        spec=wire.NodeSpec(unschedulable=cordoned, taints=tuple(taints)),
        status=wire.NodeStatus(allocatable={"cpu": "100", "memory": "100Gi", "pods": str(pods)}),
    )


def pod(
    name: str,
    *,
    on: str = "",
    namespace: str = "ns",
    labels: Mapping[str, str] | None = None,
    terminating: bool = False,
    ports: Sequence[wire.ContainerPort] = (),
    claims: Sequence[str] = (),
    **spec: Any,
) -> wire.Pod:
    """Return a pod of the group `job`: running on a node, or pending."""
    volumes = tuple(
        wire.Volume(name=claim, persistent_volume_claim=wire.PersistentVolumeClaimVolumeSource(claim_name=claim))
        for claim in claims
    )
    return wire.Pod(
        metadata=meta(
            name,
            namespace,
            labels=labels or {},
            annotations={"scheduling.k8s.io/group-name": "job"},
            deletion_timestamp="2026-01-01T00:00:00Z" if terminating else "",
        ),
        spec=wire.PodSpec(
            scheduler_name="volcano",
            node_name=on,
            containers=(
                wire.Container(
                    name="c", ports=tuple(ports), resources=wire.ResourceRequirements(requests={"cpu": "1"})
                ),
            ),
            volumes=spec.pop("volumes", volumes),
            **spec,
        ),
        status=wire.PodStatus(phase="Running" if on else "Pending"),
    )


def term(app: str, key: str = "zone", **fields: Any) -> wire.PodAffinityTerm:
    """Return a term for pods with a label `app`."""
    return wire.PodAffinityTerm(
        label_selector=wire.LabelSelector(match_labels={"app": app}), topology_key=key, **fields
    )


def beside(*terms: wire.PodAffinityTerm) -> wire.Affinity:
    """Return a required affinity."""
    return wire.Affinity(pod_affinity=wire.PodAffinity(required=terms))


def apart(*terms: wire.PodAffinityTerm) -> wire.Affinity:
    """Return a required anti-affinity."""
    return wire.Affinity(pod_anti_affinity=wire.PodAffinity(required=terms))


@dataclass
class Filtering:
    """An open session with the predicates plugin alone."""

    session: Session
    plans: list[Plan] = field(default_factory=list)

    def task(self, name: str) -> Task:
        """Return a task by name."""
        return next(task for job in self.session.jobs.all() for task in job.tasks.values() if task.name == name)

    def verdicts(self, name: str) -> dict[str, str]:
        """Return the first reason of each node that refuses a task, in the order of the filters."""
        task, columns = self.task(name), self.session.nodes.columns()
        first: dict[str, str] = {}
        for each in self.session.extensions.functions(contract.PREDICATE):
            if each.cares is not None and not each.cares(task):
                continue
            answer = each.function(task, columns)
            for column in np.flatnonzero(answer) if answer is not None else ():
                reason = each.reasons[answer[column] - 1]
                first.setdefault(self.session.nodes.table.names[column], reason.text)
        assert self.session.extensions.failures == {}
        return first

    def fits(self, name: str) -> list[str]:
        """Return the names of the nodes that the candidates of a task leave, room apart."""
        task = self.task(name)
        mask = self.session.candidates.of(task).nodes_for(task)
        assert self.session.extensions.failures == {}
        return [str(self.session.nodes.table.names[column]) for column in np.flatnonzero(mask)]

    def place(self, statement: Any, name: str, on: str) -> Refusal | None:
        """Allocate a task to a node."""
        task = self.task(name)
        job = self.session.jobs.of(task)
        assert job is not None
        refusal: Refusal | None = statement.allocate(job, [task], [self.column(on)])
        return refusal

    def column(self, name: str) -> int:
        """Return the column of a node."""
        return next(at for known, at in self.session.nodes.table.column.items() if known == name)


def opened(*objects: Any, **arguments: Any) -> Filtering:
    """Open a session on these objects; keyword arguments are fields of `PredicatesArgs`."""
    books = ClusterState()
    books.apply("Queue", wire.Queue(metadata=wire.ObjectMeta(name="default", uid="default")))
    namespaces = {each.metadata.namespace for each in objects if isinstance(each, wire.Pod)}
    for namespace in sorted(namespaces | {"ns"}):
        group = wire.PodGroup(
            metadata=meta("job", namespace, uid=f"job-{namespace}"), status=wire.PodGroupStatus(phase="Inqueue")
        )
        books.apply("PodGroup", group)
    for each in objects:
        books.apply(type(each).__name__, each)
    option = PluginOption(plugin="predicates", instance="predicates", flags=flags.defaults(absent=True))
    plans: list[Plan] = []
    session = Session(
        books.snapshot(),
        Profile(actions=(), tiers=((option,),)),
        cycle=1,
        generation=1,
        now=0.0,
        seed=0,
        outside={},
        committed=plans.append,
        settled=Settled(),
    )
    plugin = Predicates(args=PredicatesArgs(**arguments))
    session.extensions.open_plugin(option, partial(plugin.on_session_open, session))
    session.extensions.seal()
    assert session.extensions.failures == {}
    return Filtering(session, plans)
