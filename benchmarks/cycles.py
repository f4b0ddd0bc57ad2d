"""Decisions: B1, B2, B4, B5, B7, B9 and B16, each a cluster and the cycles run on it."""

import gc
import resource
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from benchmarks import clusters
from benchmarks.clusters import Object
from benchmarks.inputs import NOW, Input
from benchmarks.results import Result, at_least, below
from pyroclast.actions.registry import register_built_in as register_actions
from pyroclast.cache.files.objects import state_from_objects
from pyroclast.cache.state import ClusterState
from pyroclast.framework.configuration import Configuration, parse
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.memory import Settled
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.plugins.registry import register_built_in as register_plugins
from pyroclast.scheduler.simulation.cluster import SimulatedCluster

__all__ = ["BENCHMARKS", "INPUTS", "Bench", "collector_off", "configuration"]

DEFAULT = (
    "actions: enqueue, allocate, backfill\n"
    "tiers:\n"
    "- plugins: [{name: priority}, {name: gang}, {name: conformance}]\n"
    "- plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]\n"
)
UNSUITED = frozenset({"proportion", "extender"})
"""Plugins that do not go with capacity, or ask a server."""
WITH_DOMAINS = DEFAULT.replace("{name: nodeorder}", "{name: nodeorder}, {name: network-topology-aware}")


@dataclass
class StopWatch:
    """An observer that takes the time of each phase."""

    seconds: dict[str, float] = field(default_factory=dict)
    _begun: dict[str, float] = field(default_factory=dict)

    def committed(self, plan: Plan) -> None:
        """Take no notice."""

    def phase(self, name: str, begin: bool) -> None:
        """Start or stop the watch of a phase."""
        if begin:
            self._begun[name] = time.perf_counter()
        else:
            self.seconds[name] = time.perf_counter() - self._begun[name]


def built_in() -> Registry:
    """Return a registry of the built-in plugins and actions."""
    registry = Registry()
    register_actions(registry)
    register_plugins(registry)
    return registry


def configuration(registry: Registry, text: str = DEFAULT) -> Configuration:
    """Read a configuration."""
    return parse(
        text,
        known_plugins=registry.names(),
        known_actions=registry.action_names(),
        argument_types=registry.argument_types(),
        action_argument_types=registry.action_argument_types(),
    ).configuration


def everything() -> str:
    """Return a configuration of every built-in plugin that goes with capacity, in its place or in a tier behind."""
    text = DEFAULT.replace("{name: proportion}", "{name: capacity}")
    others = [name for name in built_in().names() if name not in UNSUITED and f"name: {name}}}" not in text]
    return f"{text}- plugins: [{', '.join(map(entry, others))}]\n"


def entry(name: str) -> str:
    """Return a plugin as the configuration names it: nodes need not be in groups here."""
    return "{name: nodegroup, arguments: {strict: false}}" if name == "nodegroup" else f"{{name: {name}}}"


@dataclass(frozen=True)
class Measured:
    """One cycle's report and time."""

    report: CycleReport
    seconds: float
    phases: Mapping[str, float]

    @property
    def binds(self) -> int:
        """Number of placed pods."""
        return sum(len(plan.binds) for plan in self.report.plans)


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the garbage collector out, as the daemon does in a cycle."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


class Bench:
    """A cluster on which cycles are run, each from the same snapshot."""

    def __init__(self, state: ClusterState | SimulatedCluster, text: str = DEFAULT) -> None:
        self._registry = built_in()
        self._configuration = configuration(self._registry, text)
        self._snapshot = state.snapshot()
        self._settled = Settled()

    def cycle(self) -> Measured:
        """Run one cycle; after the first one, what runs has been looked at, as in a daemon."""
        watch = StopWatch()
        begun = time.perf_counter()
        report, _ = run_cycle(
            self._snapshot,
            self._configuration,
            registry=self._registry,
            now=NOW,
            observer=watch,
            settled=self._settled,
        )
        seconds = time.perf_counter() - begun
        gc.collect()
        return Measured(report, seconds, dict(watch.seconds))


def measure(state: ClusterState, runs: int, text: str = DEFAULT) -> list[Measured]:
    """Run cycles on the same snapshot, after one that is not counted."""
    bench = Bench(state, text)
    with collector_off():
        return [bench.cycle() for _ in range(runs + 1)][1:]


def median_rate(measured: list[Measured]) -> float:
    """Return the median of decisions a second."""
    return statistics.median(each.binds / each.seconds for each in measured)


# Inputs ---------------------------------------------------------------------------------------------------------------


def pending_mix(nodes: int = 5000, pods: int = 50_000) -> Iterator[Object]:
    """B1: half of the pods in gangs of 100, half single, four queues."""
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    half = pods // 2
    for number in range(half // 100):
        yield from clusters.gang(f"gang-{number}", f"queue-{number % 4 + 1}", members=100, second=number)
    yield from clusters.single_jobs("single", half)


def one_impossible(nodes: int = 5000) -> Iterator[Object]:
    """B4: a gang of 10 whose tasks no node takes, each node for one reason of several."""
    yield from clusters.queues()
    for number, node in enumerate(clusters.nodes(nodes)):
        match number % 5:
            case 0:
                node["spec"]["unschedulable"] = True
            case 1:
                node["spec"]["taints"] = [{"key": "team", "value": "other", "effect": "NoSchedule"}]
            case 2:
                node["metadata"]["labels"]["disk"] = "slow"
            case 3:
                node["status"]["allocatable"]["memory"] = "1Gi"
            case _:
                node["status"]["allocatable"]["cpu"] = "500m"
        yield node
    more = {"nodeSelector": {"disk": "fast"}}
    yield from clusters.gang("impossible", "queue-1", members=10, second=0, more=more)


def unlike_gang(nodes: int = 500, members: int = 200) -> Iterator[Object]:
    """B16: a gang of unlike pods, a fifth of which fit a few large nodes alone, where the others would go first."""
    yield from clusters.queues()
    for number, node in enumerate(clusters.nodes(nodes)):
        node["status"]["allocatable"]["cpu"] = "64" if number < members // 5 else str(4 + number % 13)
        yield node
    group, *pods = clusters.gang("unlike", "queue-1", members=members, second=0)
    yield group
    for number, pod in enumerate(pods):
        cpu = 1000 + number * 37 % 3000 if number < members - members // 5 else 60_000 + number
        pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": f"{cpu}m", "memory": f"{1000 + number}Mi"}
        yield pod


def beside_running(running: int = 100_000, nodes: int = 5000, pending: int = 20_000) -> Iterator[Object]:
    """B5: pending pods beside running ones, of both half in gangs of 100 and half single."""
    yield from clusters.queues()
    yield from clusters.nodes(nodes, cpu=64, memory_gib=512)
    names = [f"node-{number:05d}" for number in range(nodes)]
    half = running // 2
    for number in range(half // 100):
        on = [names[(number * 100 + member) % nodes] for member in range(100)]
        yield from clusters.gang(
            f"old-{number}", f"queue-{number % 4 + 1}", members=100, second=0, phase="Running", nodes_of=on
        )
    for number in range(half):
        yield from clusters.gang(
            f"lone-{number}",
            f"queue-{number % 4 + 1}",
            members=1,
            second=0,
            phase="Running",
            nodes_of=[names[number % nodes]],
        )
    for number in range(pending // 200):
        yield from clusters.gang(f"gang-{number}", f"queue-{number % 4 + 1}", members=100, second=number + 1)
    yield from clusters.single_jobs("single", pending // 2)


def with_affinity(nodes: int = 5000, pods: int = 10_000) -> Iterator[Object]:
    """B9: services of 100 pods: one a host, spread over ten zones, and all beside pods of the same tier in one region.

    The region holds every node, so pod affinity is evaluated for each pod without ruling a node out.
    """
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    for number in range(pods // 100):
        app = f"app-{number}"
        select = {"matchLabels": {"app": app}}
        more = {
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"labelSelector": select, "topologyKey": clusters.HOSTNAME}
                    ]
                },
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"labelSelector": {"matchLabels": {"tier": "bench"}}, "topologyKey": clusters.REGION}
                    ]
                },
            },
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": clusters.ZONE,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": select,
                }
            ],
        }
        labels = {"app": app, "tier": "bench"}
        yield from clusters.gang(app, f"queue-{number % 4 + 1}", members=100, second=number, labels=labels, more=more)


def one_in_domains(mode: str, nodes: int = 5000, members: int = 1000) -> Iterator[Object]:
    """One gang of 1,000 pods of 4 CPU for domains of 250 nodes or fewer (or for close ones), beside nodes half busy.

    The nodes carry from a fourth to three fourths, by turns, so that domains differ.
    """
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    yield from clusters.hyper_nodes(nodes, (25, 250, 1250))
    for number in range(nodes):
        busy = 2 + number % 5
        on = [f"node-{number:05d}"] * busy
        yield from clusters.gang(
            f"busy-{number}", "queue-1", members=busy, second=0, cpu=4, memory_gib=8, phase="Running", nodes_of=on
        )
    topology = {"mode": "hard", "highestTierAllowed": 2} if mode == "hard" else {"mode": "soft"}
    for each in clusters.gang("far", "queue-2", members=members, second=3600, cpu=4, memory_gib=8):
        if each["kind"] == "PodGroup":
            each["spec"]["networkTopology"] = topology
        yield each


# Measurements ---------------------------------------------------------------------------------------------------------


def b1(runs: int, seed: int) -> Iterator[Result]:
    """Decisions a second, default plugins."""
    measured = measure(state_of("b1", seed), runs)
    phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in measured[0].phases.items() if seconds > 0.1)
    yield Result(
        name="B1",
        work="50,000 pods on 5,000 nodes, half in gangs of 100, four queues, default plugins",
        budget=at_least(10_000, "decisions/s"),
        figure=median_rate(measured),
        fault=unbound(measured[0], 50_000),
        note=f"{measured[0].binds} bound; {phases}",
    )


def b1_everything(runs: int, seed: int) -> Iterator[Result]:
    """Decisions a second with capacity and every plugin that goes with it."""
    measured = measure(state_of("b1", seed), runs, everything())
    yield Result(
        name="B1+",
        work="the same with capacity and every other plugin that goes with it",
        budget=at_least(5_000, "decisions/s"),
        figure=median_rate(measured),
        fault=unbound(measured[0], 50_000),
        note=f"{measured[0].binds} bound by {everything().count('name:')} plugins",
    )


def b2(runs: int, seed: int) -> Iterator[Result]:
    """Time to place a gang of 1,000 pods in domains, hard and soft in turn: the slower one counts."""
    benches = {mode: Bench(state_of(f"b2-{mode}", seed), WITH_DOMAINS) for mode in ("hard", "soft")}
    with collector_off():
        measured = {mode: [bench.cycle() for _ in range(runs + 1)][1:] for mode, bench in benches.items()}
    millis = {mode: statistics.median(each.seconds for each in of) * 1000 for mode, of in measured.items()}
    yield Result(
        name="B2",
        work="a gang of 1,000 pods of 4 CPU, 5,000 nodes half busy in tiers of 25, 250, 1,250; a cycle, every domain "
        "scored",
        budget=below(150, "ms"),
        figure=max(millis.values()),
        fault=", ".join(fault for of in measured.values() if (fault := unbound(of[0], 1000))),
        note=", ".join(f"{mode} {millis[mode]:.0f} ms, {measured[mode][0].binds} bound" for mode in millis),
    )


def b4(runs: int, seed: int) -> Iterator[Result]:
    """Time to find the reasons why a job cannot run."""
    # a cluster of its own each time: neither the reason nor any mask over its nodes was worked out before
    benches = [Bench(state_of("b4", seed)) for _ in range(runs + 1)]
    with collector_off():
        measured = [bench.cycle() for bench in benches][1:]
    refusal = next(iter(measured[0].report.task_refusals.values()))[0]
    counted = sum(refusal.counts.values())
    yield Result(
        name="B4",
        work="why a gang cannot run, 5,000 nodes, four reasons, exact; a whole cycle",
        budget=below(200, "ms"),
        figure=statistics.median(each.seconds for each in measured) * 1000,
        fault="" if counted == 5000 else f"{counted} of 5000 nodes counted",
        note=refusal.message,
    )


def b5(runs: int, seed: int) -> Iterator[Result]:
    """Cost of 100,000 running pods to a cycle: the two clusters in turn, the median of the ratios."""
    alone, beside = Bench(state_of("b5-alone", seed)), Bench(state_of("b5", seed))
    with collector_off():
        pairs = [(alone.cycle(), beside.cycle()) for _ in range(runs + 1)][1:]
    yield Result(
        name="B5",
        work="a cycle that places 20,000 pods (half in gangs, half single) on 5,000 nodes, beside 100,000 running pods",
        budget=below(5, "%", digits=1),
        figure=100 * (statistics.median(with_them.seconds / without.seconds for without, with_them in pairs) - 1),
        fault=", ".join(fault for each in pairs[0] if (fault := unbound(each, 20_000))),
        note=f"{pairs[0][0].seconds:.2f} s without, {pairs[0][1].seconds:.2f} s with them",
    )


def b7(_: int, seed: int) -> Iterator[Result]:
    """Memory of the books and a cycle."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (measured,) = measure(state_of("b1", seed), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield Result(
        name="B7",
        work="memory with 5,000 nodes and 50,000 pods, books, snapshot and a cycle (no soak)",
        budget=below(1000, "MB"),
        figure=peak * 1024 / 1e6,
        fault=unbound(measured, 50_000),
        note=f"{before * 1024 / 1e6:,.0f} MB before; peak of the process",
    )


def b9(runs: int, seed: int) -> Iterator[Result]:
    """Decisions a second with affinity and spreading."""
    measured = measure(state_of("b9", seed), runs)
    yield Result(
        name="B9",
        work="10,000 pods with host anti-affinity, zone spread and pod affinity, 5,000 nodes",
        budget=at_least(5_000, "decisions/s"),
        figure=median_rate(measured),
        fault=unbound(measured[0], 10_000),
        note=f"{measured[0].binds} bound in {measured[0].seconds:.2f} s",
    )


def state_of(name: str, seed: int) -> ClusterState:
    """Return the books of an input."""
    return state_from_objects(INPUTS[name].objects(seed))


def unbound(measured: Measured, expected: int) -> str:
    """Return a fault if not all pods were placed, else an empty text."""
    return "" if measured.binds == expected else f"{measured.binds} of {expected} bound"


def b16(runs: int, seed: int) -> Iterator[Result]:
    """Time to place a gang of unlike pods for which there is no place in task order."""
    # a cluster of its own each time: no template was met before
    benches = [Bench(state_of("b16", seed)) for _ in range(runs + 1)]
    with collector_off():
        measured = [bench.cycle() for bench in benches][1:]
    yield Result(
        name="B16",
        work="a gang of 200 unlike pods, 40 of which fit 40 of 500 nodes alone; a cycle with the search for places",
        budget=below(300, "ms"),
        figure=statistics.median(each.seconds for each in measured) * 1000,
        fault=unbound(measured[0], 200),
    )


BENCHMARKS = {
    "b1": b1,
    "b1+": b1_everything,
    "b2": b2,
    "b4": b4,
    "b5": b5,
    "b7": b7,
    "b9": b9,
    "b16": b16,
}

INPUTS = {
    "b1": Input(make=pending_mix, config=DEFAULT, small={"nodes": 40, "pods": 400}),
    "b1+": Input(make=pending_mix, config=everything(), small={"nodes": 40, "pods": 400}),
    "b2-hard": Input(make=partial(one_in_domains, "hard"), config=WITH_DOMAINS, small={"nodes": 250, "members": 400}),
    "b2-soft": Input(make=partial(one_in_domains, "soft"), config=WITH_DOMAINS, small={"nodes": 250, "members": 400}),
    "b4": Input(make=one_impossible, config=DEFAULT, small={"nodes": 50}),
    "b5": Input(make=beside_running, config=DEFAULT, small={"running": 800, "nodes": 40, "pending": 400}),
    "b5-alone": Input(make=partial(beside_running, running=0), config=DEFAULT, small={"nodes": 40, "pending": 400}),
    "b7": Input(make=pending_mix, config=DEFAULT, small={"nodes": 40, "pods": 400}),
    "b9": Input(make=with_affinity, config=DEFAULT, small={"nodes": 120, "pods": 300}),
    "b16": Input(make=unlike_gang, config=DEFAULT, small={"nodes": 40, "members": 40}),
}
"""Inputs by the name of the benchmark, and of its part if there are two."""
