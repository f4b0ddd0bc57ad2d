"""A day of churn in short: after thousands of pods came and went, nothing of them is left in memory.

Counted are the entries of every container that is reachable from the state of the cluster, from what outlives a cycle,
and from the metrics. Nothing is timed, and no memory is measured.
"""

import random
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import msgspec
import numpy as np

from pyroclast.cache.options import StateOptions
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model.errors import ObjectError
from pyroclast.model.jobs import Job
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.monitoring.cycle_metrics import observe_gangs, observe_placements, set_cycle_metrics
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.simulation.cluster import SimulatedCluster
from pyroclast.testing.configuration import configured
from tests.drawing import IS_DEEP

WAVES: Final = 60 if IS_DEEP else 12
JOBS: Final = 120
"""Jobs of a wave, with 1 to 4 pods each."""
NODES: Final = 12
START: Final = 1_767_225_600.0
ACTIONS: Final = ("enqueue", "allocate", "backfill", "preempt", "reclaim")
PLUGINS: Final = (
    ("priority", "gang", "conformance", "coscheduling"),
    ("drf", "predicates", "proportion", "nodeorder", "overcommit", "sla", "reservation", "elastic-quota"),
)
BOUNDED: Final = {"_memo": 1 << 18, "_facts": 1 << 14}
"""Parts of paths to containers that keep entries on purpose, and the bound: masks by selector, numbers by job."""
_FACTOR: Final = 2.5
"""Rows of resources without objects and templates without tasks are dropped when they are as many as the others."""
_MORE: Final = 64
_LEAVES: Final = (str, bytes, int, float, bool, type(None), msgspec.Struct, Job, Task, TaskTemplate, type)


class Churned(SimulatedCluster):
    """A cluster whose pods end and are deleted."""

    def end_pods(self) -> None:
        """Let all pods on nodes succeed."""
        for pod in list(self._of("Pod").values()):
            if pod.spec.node_name:
                status = msgspec.structs.replace(pod.status, phase="Succeeded")
                self._set("Pod", msgspec.structs.replace(pod, status=status))

    def delete(self, *kinds: str) -> None:
        """Delete all objects of some kinds."""
        for kind in kinds:
            for each in list(self._of(kind).values()):
                self._state.remove(kind, each)
            self._of(kind).clear()
        self._first_pods.clear()


class Day:
    """A cluster, and what a scheduler keeps of it between cycles."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.now = chance, START
        self.cluster = Churned(self._stable(), StateOptions(), report=_raise, note=lambda _: None)
        parsed, self.registry = configured(ACTIONS, PLUGINS, {})
        self.configuration = parsed.configuration
        self.memory, self.settled, self.metrics = Memory(), Settled(), Metrics()

    def _stable(self) -> Iterator[dict[str, Any]]:
        for name in ("a", "b"):
            yield {"kind": "Queue", "metadata": {"name": name, "uid": name}, "spec": {"weight": 1, "reclaimable": True}}
        for value in range(3):
            yield {"kind": "PriorityClass", "metadata": {"name": f"p{value}"}, "value": value}
        for number in range(NODES):
            yield {
                "kind": "Node",
                "metadata": {"name": f"n{number}", "uid": f"n{number}", "labels": {"zone": f"z{number % 3}"}},
                "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}},
            }

    def wave(self, number: int) -> None:
        """Create jobs, decide, let pods end, and delete everything."""
        for job in range(JOBS):
            self.cluster.add(self._job(f"w{number}-{job}"))
        for cycle in range(4):
            self.cycle()
            if cycle == 2:
                self.cluster.end_pods()
        # pods go before their groups, or after them
        self.cluster.delete(*(("Pod", "PodGroup") if number % 2 else ("PodGroup", "Pod")), "ElasticQuota")
        self.cycle()

    def cycle(self) -> None:
        """Decide once, and let happen what was decided."""
        self.now += 1
        snapshot = self.cluster.snapshot()
        report, self.memory = run_cycle(
            snapshot,
            self.configuration,
            registry=self.registry,
            now=self.now,
            memory=self.memory,
            settled=self.settled,
        )
        seen = Seen(snapshot=snapshot, report=report)
        self.metrics.apply(report.samples)
        set_cycle_metrics(seen, self.metrics)
        observe_placements(seen, self.metrics, self.now)
        observe_gangs(seen, self.metrics)
        for plan in report.plans:
            assert not self.cluster.assume(plan, self.now)
        self.cluster.settle(report.plans, report, now=self.now, recreate_evicted=self.chance.random() < 0.5)

    def _job(self, name: str) -> Iterator[dict[str, Any]]:
        chance = self.chance
        namespace, pods = f"ns-{name.split('-', maxsplit=1)[0]}-{chance.randrange(5)}", chance.randint(1, 4)
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": f"g-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        minimum = {"cpu": f"{chance.randint(1, 9000)}m"} if chance.random() < 0.5 else None
        if chance.random() < 0.7:
            yield {
                "kind": "PodGroup",
                "metadata": metadata,
                "spec": {
                    "queue": chance.choice(["a", "b", f"none-{name}"])
                    if chance.random() < 0.2
                    else chance.choice("ab"),
                    "minMember": chance.randint(1, pods),
                    "priorityClassName": chance.choice(["p0", "p1", "p2", f"none-{name}"]),
                    **({"minResources": minimum} if minimum else {}),
                },
                "status": {"phase": chance.choice(["Pending", "Inqueue"])},
            }
        if chance.random() < 0.1:
            yield {"kind": "ElasticQuota", "metadata": {**metadata, "uid": f"q-{name}"}, "spec": {"max": {"cpu": "9"}}}
        for number in range(pods):
            yield self._pod(f"{name}-{number}", name, namespace)

    def _pod(self, name: str, group: str, namespace: str) -> dict[str, Any]:
        chance = self.chance
        labels, annotations = {"app": group, f"only-{name}": "x"}, {"scheduling.k8s.io/group-name": group}
        if chance.random() < 0.1:
            annotations = {
                "gang.scheduling.koordinator.sh/name": group,
                "gang.scheduling.koordinator.sh/min-available": "1",
            }
        if chance.random() < 0.1:
            labels["scheduling.koordinator.sh/operating-mode"] = "Reservation"
            annotations["scheduling.koordinator.sh/reservation-owners"] = (
                '[{"labelSelector": {"matchLabels": {"app": "b"}}}]'
            )
        requests = {"cpu": f"{chance.randint(1, 4000)}m"}
        if chance.random() < 0.3:
            requests[f"example.com/{name}"] = "1"
        spec: dict[str, Any] = {
            "schedulerName": "volcano",
            "containers": [{"name": "main", "image": f"image-{name}", "resources": {"requests": requests}}],
        }
        if chance.random() < 0.3:
            spec["nodeSelector"] = {f"label-{name}": "x"} if chance.random() < 0.5 else {"zone": "z1"}
        if chance.random() < 0.3:
            spec["affinity"] = {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "zone", "labelSelector": {"matchLabels": {f"only-{name}": "x"}}}
                    ]
                }
            }
        if chance.random() < 0.2:
            spec["tolerations"] = [{"key": f"key-{name}", "operator": "Exists"}]
        if chance.random() < 0.2:
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": f"claim-{name}"}}]
        if chance.random() < 0.1:
            spec["resourceClaims"] = [{"name": "c", "resourceClaimName": f"claim-{name}"}]
        return {
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"p-{name}",
                "labels": labels,
                "annotations": annotations,
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": spec,
            "status": {"phase": "Pending"},
        }


def sizes(*roots: Any) -> Counter[str]:
    """Count the entries of all containers that are reachable by attributes and entries, by the names of attributes."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    left: deque[tuple[str, Any]] = deque((type(root).__name__, root) for root in roots)
    while left:
        path, each = left.pop()
        if id(each) in seen or isinstance(each, _LEAVES):
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            found[path] += each.size
        elif isinstance(each, Mapping):
            found[path] += len(each)
            left.extend((f"{path}[]", part) for pair in each.items() for part in pair)
        elif isinstance(each, list | tuple | AbstractSet | deque):
            found[path] += len(each)
            left.extend((f"{path}[]", part) for part in each)
        if type(each).__module__.startswith(("pyroclast", "prometheus_client", "tests")):
            left.extend((f"{path}.{name}", value) for name, value in _attributes(each))
        elif callable(each) and hasattr(each, "__self__"):
            left.append((f"{path}()", each.__self__))
    return found


def _attributes(each: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(each, "__dict__", {}).items()
    for kind in type(each).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(each, name):
                yield name, getattr(each, name)


def _raise(error: ObjectError) -> None:
    raise error


def test_nothing_is_left_of_work_that_came_and_went() -> None:
    """Compare the sizes at rest after some waves with those after many more."""
    day = Day(random.Random(1))
    for number in range(3):
        day.wave(number)
    before = day_sizes(day)
    for number in range(3, WAVES):
        day.wave(number)
    after = day_sizes(day)

    left = {
        path: (before[path], count)
        for path, count in after.items()
        if count > max(_FACTOR * before[path], before[path] + _MORE) and not any(part in path for part in BOUNDED)
    }
    assert not left
    for part, most in BOUNDED.items():
        assert max((count for path, count in after.items() if part in path), default=0) <= most


def day_sizes(day: Day) -> Counter[str]:
    """Count at rest."""
    day.cluster.delete("Pod", "PodGroup")
    for _ in range(3):
        day.cycle()
    day.cluster.snapshot()
    return sizes(day.cluster._state, day.memory, day.settled, day.metrics)
