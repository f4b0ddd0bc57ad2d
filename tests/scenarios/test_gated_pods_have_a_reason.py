"""A pod behind scheduling gates is not placed, and says which gates it waits behind."""

from pyroclast.testing import Scenario

PLUGINS = ("gang", "predicates")
GATED = {"schedulingGates": [{"name": "example.com/quota"}, {"name": "example.com/data"}]}
THERE = Scenario().node("n1")
WAITS = "waits for the removal of scheduling gates: example.com/quota, example.com/data"


def test_a_gated_pod_names_its_gates() -> None:
    """In its refusal and in the message of its group; its condition is the API server's business."""
    outcome = THERE.job("a", tasks=1, pod=GATED).run("enqueue", "allocate", plugins=PLUGINS)

    assert outcome.bindings == {}
    assert outcome.why_pod("a-0") == f"scheduler: {WAITS}"
    assert outcome.why("a").endswith(f"Origin reason is a-0: {WAITS}")
    assert outcome.condition_message("a-0") == ""


def test_beside_a_gang_that_runs_it_says_so_too() -> None:
    """The group has its minimum; the pod that waits is of no more concern to it, but to who looks for the pod."""
    scenario = THERE.job("a", tasks=1).pod("late", job="a", spec=GATED)
    outcome = scenario.run("enqueue", "allocate", plugins=PLUGINS, cycles=3)

    assert outcome.bindings == {"a-0": "n1"}
    assert outcome.why_pod("late") == f"scheduler: {WAITS}"


def test_a_pod_at_the_gate_of_its_queue_alone_says_so() -> None:
    """The queue does not remove the gate, so another controller must."""
    gate = "scheduling.volcano.sh/queue-allocation-gate"
    outcome = THERE.job("a", pod={"schedulingGates": [{"name": gate}]}).run("enqueue", "allocate", plugins=PLUGINS)

    assert outcome.why_pod("a-0") == f"scheduler: waits for the removal of scheduling gates: {gate}"
