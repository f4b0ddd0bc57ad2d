"""Required rules that no configured plugin serves: the pod waits with that reason, and no eviction is made for it."""

import pytest

from pyroclast import Plugin, Session
from pyroclast.model.required_rules import RESERVATION
from pyroclast.testing import Scenario

S = "scheduling.koordinator.sh/"
GATHER = "gang.scheduling.koordinator.sh/network-topology-spec"
BASIC = (("priority", "gang"), ("predicates", "nodeorder"))
CLUSTER = Scenario().priority_class("high", 9).node("n1", cpu=4)


@pytest.mark.parametrize(
    ("annotation", "value", "rule"),
    [
        (f"{S}reservation-affinity", '{"name":"r"}', "a reservation"),
        (f"{S}reservation-affinity", "not JSON", "a reservation"),
        (GATHER, '{"gatherStrategy":[{"layer":"a","strategy":"MustGather"}]}', "gathering by network topology"),
        (f"{S}numa-topology-spec", '{"numaTopologyPolicy":"SingleNUMANode"}', "NUMA alignment"),
        (f"{S}numa-topology-spec", '{"singleNUMANodeExclusive":"Required"}', "NUMA alignment"),
        (f"{S}device-joint-allocate", '{"requiredScope":"SamePCIe"}', "a common scope of devices"),
    ],
)
def test_a_pod_with_a_rule_waits(annotation: str, value: str, rule: str) -> None:
    """The reason names the rule."""
    outcome = CLUSTER.job("a", annotations={annotation: value}).run("allocate", plugins=BASIC)

    assert outcome.bindings == {}
    assert outcome.why_pod("a-0") == f"scheduler: the pod requires {rule}, which no configured plugin serves"


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (GATHER, '{"gatherStrategy":[{"layer":"a","strategy":"PreferGather"}]}'),
        (GATHER, '{"gatherStrategy":"MustGather"}'),
        (f"{S}numa-topology-spec", '{"numaTopologyPolicy":"BestEffort"}'),
        (f"{S}numa-topology-spec", "[]"),
        (f"{S}resource-spec", '{"requiredCPUBindPolicy":"FullPCPUs"}'),
    ],
)
def test_a_preference_is_no_rule(annotation: str, value: str) -> None:
    """Nor is a CPU policy of a pod whose class binds no CPUs."""
    outcome = CLUSTER.job("a", annotations={annotation: value}).run("allocate", plugins=BASIC)

    assert outcome.bindings == {"a-0": "n1"}


@pytest.mark.parametrize(("spec", "waits"), [("requiredCPUBindPolicy", True), ("preferredCPUBindPolicy", False)])
def test_a_class_that_binds_cpus(spec: str, waits: bool) -> None:
    """A required policy of a pod of class LSR keeps it waiting, a preferred one does not."""
    annotations = {f"{S}resource-spec": f'{{"{spec}":"FullPCPUs"}}'}
    job = CLUSTER.job("a", labels={"koordinator.sh/qosClass": "LSR"}, annotations=annotations)

    assert (job.run("allocate", plugins=BASIC).bindings == {}) == waits


def test_other_pods_of_the_job_run() -> None:
    """One pod of three with the rule waits where two are enough."""
    scenario = CLUSTER.job("a", tasks=3, min_available=2)
    first = next(each for each in scenario.objects if each["kind"] == "Pod")
    first["metadata"]["annotations"][f"{S}reservation-affinity"] = "{}"

    assert sorted(scenario.run("allocate", plugins=BASIC).bindings) == ["a-1", "a-2"]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt", "backfill"])
def test_no_pod_is_evicted_for_it(action: str) -> None:
    """It could not run on the room of its victims either; a pod that asks for nothing waits as well."""
    rule = {f"{S}reservation-affinity": "{}"}
    scenario = CLUSTER.running("low", on=["n1"], cpu=4, min_available=0)
    scenario = scenario.job("high", cpu=4, priority_class="high", annotations=rule).job(
        "light", cpu=None, annotations=rule
    )
    outcome = scenario.run("enqueue", "allocate", action, plugins=BASIC, cycles=2)

    assert outcome.evictions == []
    assert outcome.bindings == {}


def test_a_plugin_may_serve_a_rule() -> None:
    """Then it decides."""

    class Keeper(Plugin):
        name = "keeper"

        def on_session_open(self, session: Session) -> None:
            session.extensions.register_rule(self.name, RESERVATION)

    job = CLUSTER.job("a", annotations={f"{S}reservation-affinity": "{}"})

    assert job.run("allocate", plugins=("gang", "predicates", Keeper)).bindings == {"a-0": "n1"}
