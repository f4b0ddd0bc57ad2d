"""Pods with CPUs of their own: gangs, evictions, several cycles, changes of topologies."""

from pyroclast.model.cpusets import read_cpu_set
from pyroclast.testing import Scenario
from tests.nodenuma import LARGE, cpus_of, holding, node, pinned, run, topology

FULL = "FullPCPUs"
PREEMPT = (("priority", "gang", "conformance"), ("predicates", "nodenuma"))


def test_a_gang_starts_whole_or_not() -> None:
    """Three members of four CPUs on two nodes of one free core row each; the third has no CPUs."""
    there = holding(node("n1"), "a", "0-1,4-5", 4)
    there = holding(node("n2", base=there), "b", "0-1,4-5", 4, on="n2")

    assert run(pinned(there, "p", 4, tasks=3, min_available=3, required=FULL), cycles=2).bindings == {}
    assert len(run(pinned(there, "p", 4, tasks=2, min_available=2, required=FULL)).bindings) == 2


def test_cpus_are_taken_across_cycles() -> None:
    """Assumed pods keep what their bindings say."""
    there = pinned(node(cpus=LARGE), "p", 8, tasks=3)
    later = run(there, cycles=3, later={2: pinned(there, "q", 8)})

    cpus = [read_cpu_set(cpus_of(later, pod)) for pod in ("p-0", "p-1", "p-2", "q-0")]
    assert sum(each.bit_count() for each in cpus) == 32
    assert cpus[0] | cpus[1] | cpus[2] | cpus[3] == (1 << 32) - 1


def test_a_more_important_pod_gets_the_cpus_of_its_victim() -> None:
    """Only the victim whose CPUs make a whole NUMA node goes; the pod waits for them and gets them."""
    there = node().priority_class("high", 9).priority_class("low", 1)
    there = holding(there, "left", "0-1,4", 3, priority_class="low", min_available=0)
    there = holding(there, "small", "5", 1, priority_class="low", min_available=0)
    there = holding(there, "right", "2-3,6-7", 4, priority_class="low", min_available=0)
    outcome = run(
        pinned(there, "p", 4, required=FULL, numa="SingleNUMANode", priority_class="high"),
        "enqueue",
        "allocate",
        "preempt",
        plugins=PREEMPT,
        cycles=2,
    )

    assert outcome.evictions == ["right-0"]
    assert outcome.bindings == {"p-0": "n1"}
    assert cpus_of(outcome) == "2-3,6-7"


def test_no_pod_is_evicted_without_effect() -> None:
    """The CPUs of an important pod lie in every NUMA node, so that no eviction makes one free."""
    there = node().priority_class("high", 9).priority_class("low", 1)
    there = holding(there, "span", "0,2", 2, priority_class="high")
    there = holding(there, "low", "1,5", 2, priority_class="low", min_available=0)
    outcome = run(
        pinned(there, "p", 4, required=FULL, numa="SingleNUMANode", priority_class="high"),
        "enqueue",
        "allocate",
        "preempt",
        plugins=PREEMPT,
        cycles=2,
    )

    assert outcome.evictions == []
    assert outcome.bindings == {}


def test_a_topology_that_changes_under_running_pods() -> None:
    """CPUs that are reserved now are not given again; the pod that holds one keeps it."""
    there = holding(node(), "held", "0,4", 2)
    changed = [each for each in there.objects if each["kind"] != "NodeResourceTopology"]
    outcome = run(
        pinned(type(there)(objects=tuple(changed)).add(topology("n1", reservation={"reservedCPUs": "0-1"})), "p", 5)
    )

    assert cpus_of(outcome) == "2-3,5-7"


def test_a_cpu_of_two_pods_is_free_when_both_are_gone() -> None:
    """Annotations of two pods name the same core: it stays in use when one of them is evicted."""
    there = node().priority_class("high", 9).priority_class("low", 1)
    there = holding(there, "others", "1-3,5-7", 6, priority_class="high")
    first = holding(there, "first", "0,4", 2, priority_class="low", min_available=0)
    both = holding(first, "second", "0,4", 2, priority_class="high")

    def evicted(scenario: Scenario) -> list[str]:
        important = pinned(scenario, "p", 2, required=FULL, priority_class="high")
        return run(important, "enqueue", "allocate", "preempt", plugins=PREEMPT, cycles=2).evictions

    assert evicted(first) == ["first-0"]
    assert evicted(both) == []
