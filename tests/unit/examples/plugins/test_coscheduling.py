"""The example of docs/plugins/coscheduling.md."""

from pyroclast.model.gangs.names import BIND_ANNOTATIONS
from pyroclast.testing import Outcome, Scenario
from tests.gangs import annotated
from tests.unit.examples.page import assert_tells

PODS, LEAST = {"a": 2, "b": 3}, {"a": 2, "b": 2}
GROUP = ("default/a", "default/b")


def cluster(cpus: int, *, of_b: int = PODS["b"]) -> Scenario:
    """One node, and the members of both gangs."""
    scenario = Scenario().queue("default").node("n", cpu=cpus)
    for name, pods in (("a", PODS["a"]), ("b", of_b)):
        for number in range(pods):
            scenario = scenario.pod(f"{name}-{number}", annotations=annotated(name, LEAST[name], groups=GROUP), cpu=1)
    return scenario


def run(scenario: Scenario) -> Outcome:
    """Decide twice."""
    return scenario.run("allocate", plugins=("coscheduling", "gang", "predicates"), cycles=2)


def carried(outcome: Outcome) -> set[tuple[str, ...]]:
    """Group and count of those who were bound."""
    binds = (bind for each in outcome.rounds for plan in each.plans for bind in plan.binds)
    return {tuple(bind.annotations.get(key, "") for keys in BIND_ANNOTATIONS for key in keys) for bind in binds}


def test_the_page() -> None:
    """Binds, with their annotations, and reasons of pending pods."""
    together = sum(LEAST.values())
    short, tight, enough = run(cluster(9, of_b=1)), run(cluster(3)), run(cluster(together))
    group = ",".join(GROUP)
    assert short.condition_message("a-0") == short.condition_message("b-0")
    assert (short.bindings, tight.bindings, len(enough.bindings)) == ({}, {}, together)
    assert carried(enough) == {(group, str(together)) * 2}
    assert carried(run(cluster(together).node("n2", cpu=1))) == {(group, str(together)) * 2, ("",) * 4}

    assert_tells(
        "plugins/coscheduling",
        f"Gang `a` has {PODS['a']} pods and needs {LEAST['a']}, gang `b` has {PODS['b']} and needs {LEAST['b']}, "
        "each pod requests 1 CPU",
        f"With one pod of `b` all of them have the reason `{short.condition_message('a-0')}`.",
        f"With all pods, on a node of 3 CPUs, no pod is bound: {together} must start together.",
        f"On a node of {together} they are, with the member count {together} and the group `{group}`;",
    )
