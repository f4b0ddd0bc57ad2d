"""Allocate: which jobs are placed in a cycle, and which do not delay others."""

from pyroclast.testing import Scenario

PLUGINS = ("gang", "drf", "proportion", "predicates", "nodeorder")

MASTER, WORKER = {"kind": "master"}, {"kind": "worker"}


def placed(scenario: Scenario) -> dict[str, str]:
    """Run allocate alone, with all jobs admitted."""
    return scenario.run("allocate", plugins=PLUGINS).bindings


def roles(scenario: Scenario, minimum: int, by_role: dict[str, int], *, each: int) -> Scenario:
    """A group of masters and workers, each kind for nodes of its own."""
    scenario = scenario.job("a", tasks=0, min_available=minimum, min_by_role=by_role, phase="Inqueue")
    for role, labels in (("master", MASTER), ("worker", WORKER)):
        for number in range(each):
            scenario = scenario.pod(f"{role}-{number}", job="a", role=role, spec={"nodeSelector": labels})
    return scenario


def test_a_role_without_a_node_holds_up_no_other_role() -> None:
    """There is a node for workers and none for masters; one of the two is enough."""
    there = Scenario().node("n1", cpu=2, labels=WORKER)

    assert placed(roles(there, 1, {}, each=1)) == {"worker-0": "n1"}


def test_what_one_member_of_a_role_lacks_the_minimum_may_not_need() -> None:
    """Each node takes one pod; one of each role is the minimum."""
    there = Scenario().node("n1", cpu=1, labels=MASTER).node("n2", cpu=1, labels=WORKER)

    assert placed(roles(there, 2, {"master": 1, "worker": 1}, each=2)) == {"master-0": "n1", "worker-0": "n2"}


def test_a_role_below_its_minimum_keeps_the_whole_group_from_running() -> None:
    """Two masters are needed and one has room: the workers, who fit, are not placed either."""
    there = Scenario().node("n1", cpu=1, labels=MASTER).node("n2", cpu=2, labels=WORKER)

    assert placed(roles(there, 2, {"master": 2, "worker": 0}, each=2)) == {}


def test_a_group_without_minimum_is_placed() -> None:
    """Both of its pods."""
    there = Scenario().node("n1", cpu=2).job("a", tasks=2, min_available=0, phase="Inqueue")

    assert placed(there) == {"a-0": "n1", "a-1": "n1"}


def test_queues_share_pod_by_pod() -> None:
    """Two jobs of two in two queues, and room for two: the first pod of each."""
    there = Scenario().node("n1", cpu=2)
    for name in ("a", "b"):
        there = there.job(name, tasks=2, queue=f"of-{name}", min_available=0, phase="Inqueue")

    assert placed(there) == {"a-0": "n1", "b-0": "n1"}


def test_a_pod_that_does_not_fit_holds_up_no_other_queue() -> None:
    """The first queue asks for 3 of 2 CPU, the second for 1."""
    there = Scenario().node("n1", cpu=2).queue("first", priority=1)
    there = there.job("large", queue="first", cpu=3, min_available=0, phase="Inqueue")

    assert placed(there.job("small", queue="second", min_available=0, phase="Inqueue")) == {"small-0": "n1"}


def fair(scenario: Scenario) -> dict[str, str]:
    """Run allocate with shares that order and limit nothing."""
    shares = ("drf", {"name": "proportion", "enabledAllocatable": False})
    return scenario.run("allocate", plugins=(*shares, "predicates", "nodeorder")).bindings


def test_the_queue_with_less_goes_first() -> None:
    """One queue uses 1 of 5 CPU and requests 2 more, the other has nothing and requests 3: it gets them."""
    there = Scenario().node("n1", cpu=5).running("busy", on=["n1"], queue="q1")
    there = there.job("more", queue="q1", cpu=2, phase="Inqueue").job("new", queue="q2", cpu=3, phase="Inqueue")

    assert fair(there) == {"new-0": "n1"}


def test_queues_are_compared_again_after_each_job() -> None:
    """With its first job of 2 CPU the second queue has more than the first, so its second job finds no room."""
    there = Scenario().node("n1", cpu=5).running("busy", on=["n1"], queue="q1")
    there = there.job("a", queue="q1", cpu=2, phase="Inqueue")
    there = there.job("b", queue="q2", cpu=2, phase="Inqueue").job("c", queue="q2", phase="Inqueue")

    assert fair(there) == {"a-0": "n1", "b-0": "n1"}


def test_a_job_without_pending_pods_holds_up_none_behind_it() -> None:
    """The first job of the queue has no pod yet, the second runs, the third is placed."""
    there = Scenario().node("n1").job("empty", tasks=0, phase="Inqueue").running("busy", on=["n1"])
    there = there.job("a", phase="Inqueue")

    assert placed(there) == {"a-0": "n1"}
