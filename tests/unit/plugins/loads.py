"""Nodes with measurements and pods for tests of load-aware."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyroclast.cache.files.objects import decoded
from pyroclast.framework.extension import contract
from pyroclast.model import wire
from pyroclast.model.refusals import Reason
from tests.nodemetrics import node_metric
from tests.unit.plugins.policies import World, opened

NOW = 1_000_000_000.0
GIB = 2**30
LONG_AGO = 3600.0

Amounts = Mapping[str, Any]


def metric(name: str, cpu: Any = "0", memory: Any = "0", *, age: float = 0, **more: Any) -> wire.NodeMetric:
    """What a node was measured to use."""
    used = more.pop("used", {"cpu": cpu, "memory": memory})
    ((_, each),) = decoded([node_metric(name, used, at=more.pop("at", NOW - age), **more)])
    made: wire.NodeMetric = each
    return made


def pod(
    name: str,
    requests: Amounts | None = None,
    limits: Amounts | None = None,
    *,
    on: str = "",
    placed_ago: float | None = LONG_AGO,
    conditions: Sequence[tuple[str, str, float]] = (),
    start: str = "",
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: str = "",
    job: str = "job",
    leaving: bool = False,
) -> wire.Pod:
    """A pod with requests, running where `on` is given.

    Args:
        name: Its name.
        requests: What it asks for; one CPU where nothing is said.
        limits: The most it may use.
        on: Its node.
        placed_ago: Seconds since it got its node; None where it does not show.
        conditions: Further ones: type, status, and how long ago they changed.
        start: When it started, as it is written.
        priority: Its priority.
        labels: Its labels.
        annotations: Its annotations.
        owner: Kind of what made it.
        job: Its group.
        leaving: Whether its deletion has begun.
    """
    scheduled = [("PodScheduled", "True", placed_ago)] if on and placed_ago is not None else []
    resources = wire.ResourceRequirements(
        requests={"cpu": "1"} if requests is None else dict(requests), limits=dict(limits or {})
    )
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name=name,
            namespace="ns",
            uid=name,
            labels=dict(labels or {}),
            annotations={"scheduling.k8s.io/group-name": job, **(annotations or {})},
            owner_references=(wire.OwnerReference(kind=owner),) if owner else (),
            deletion_timestamp="2026-01-01T00:00:00Z" if leaving else "",
        ),
        spec=wire.PodSpec(
            scheduler_name="volcano",
            node_name=on,
            priority=priority,
            containers=(wire.Container(name="c", resources=resources),),
        ),
        status=wire.PodStatus(
            phase="Running" if on else "Pending",
            start_time=start,
            conditions=tuple(
                wire.Condition(type=kind, status=status, last_transition_time=wire.time_text(NOW - ago))
                for kind, status, ago in [*scheduled, *conditions]
            ),
        ),
    )


def world(*objects: Any, **arguments: Any) -> World:
    """A session with load-aware alone."""
    return opened(*objects, plugins=[{"name": "load-aware", "arguments": arguments}], now=NOW)


def refusals(there: World, task: str = "p") -> dict[str, str]:
    """Why each node refuses a task, by its name: in words, and what the nearest has of what it may have, in percent."""
    each = there.function(contract.PREDICATE)
    answer = each.function(there.task(task), there.session.nodes.columns())
    if answer is None:
        return {}
    reasons = there.session.candidates.answers.reasons_of(each, there.task(task))
    return {
        str(there.session.nodes.table.names[at]): in_words(reasons[answer[at] - 1]) for at in np.flatnonzero(answer)
    }


def in_words(reason: Reason) -> str:
    """A reason with its amounts."""
    amounts = (f"{name} {wanted / 1000:g}/{most / 1000:g}" for name, (wanted, most) in reason.amounts.items())
    return ": ".join([reason.text, *amounts])
