"""Points about parts of jobs and topology domains: each is asked, and answers combine as `points.py` says."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast import SessionJob, SubJob, Vote, contract
from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import rack
from tests.unit.framework.asking import Saying, always

RACKS = ("r0", "r1", "r2")
GANG = {"name": "gang", "enabledSubJobReady": False, "enabledSubJobPipelined": False}
"""Says when jobs are ready; about parts it is not asked."""


def saying(point: Any, function: Any, name: str = "test", **options: Any) -> Saying:
    """Return a plugin with one function."""
    return Saying(name, {point: (function, options)})


# Parts ----------------------------------------------------------------------------------------------------------------


def two_parts(cpu: int = 4) -> Scenario:
    """A node, and a job of two parts with two pods each, of which three pods make it ready."""
    policy = [{"name": "part", "subGroupSize": 2, "matchLabelKeys": ["part"], "minSubGroups": 0}]
    scenario = Scenario().node("n1", cpu=cpu).job("a", tasks=0, min_available=3, group={"subGroupPolicy": policy})
    for number, part in enumerate("xxyy"):
        scenario = scenario.pod(f"a-{number}", job="a", labels={"part": part})
    return scenario


def is_x(part: SubJob) -> bool:
    """Return whether a part is that of the first two pods."""
    return any(task.name == "a-0" for task in part.tasks.values())


def bound_in_turns(outcome: Outcome) -> list[str]:
    """Return the pods bound, in the order in which they were placed."""
    return [bind.name for plan in outcome.rounds[0].plans for bind in plan.binds]


def test_sub_job_ready_hands_the_turn_to_the_next_part() -> None:
    """A part that is ready after each pod leaves the turn; one that never is, and may not wait, is undone."""
    ready = saying(contract.SUB_JOB_READY, always(True))
    never = Saying("never", {contract.SUB_JOB_READY: always(False), contract.SUB_JOB_PIPELINED: always(Vote.REJECT)})

    assert set(bound_in_turns(two_parts().run("allocate", plugins=(GANG, ready)))) >= {"a-0", "a-1", "a-2"}
    assert bound_in_turns(two_parts().run("allocate", plugins=(GANG, ready, never))) == []


def test_sub_job_ready_is_asked_for_parts_alone() -> None:
    """Each part is asked about; all plugins must agree, and the flag switches one off."""
    seen: set[str] = set()

    def only_x(part: SubJob) -> bool:
        seen.add(part.id)
        return is_x(part)

    no = Saying("no", {contract.SUB_JOB_READY: only_x, contract.SUB_JOB_PIPELINED: always(Vote.REJECT)})
    yes = saying(contract.SUB_JOB_READY, always(True), name="yes")
    ready_with_two = two_parts().run("allocate", plugins=(GANG, yes, no))

    assert len(seen) == 2
    assert bound_in_turns(ready_with_two) == []  # two pods of one part are not the three of the job
    switched_off = two_parts().run("allocate", plugins=(GANG, yes, {"name": no, "enabledSubJobReady": False}))
    assert len(bound_in_turns(switched_off)) >= 3


def test_sub_job_pipelined_keeps_the_places_of_a_part_that_is_not_ready() -> None:
    """The job is ready by them; with a reject they are undone."""
    unready = saying(contract.SUB_JOB_READY, always(False), name="unready")

    def run(vote: Vote) -> list[str]:
        return bound_in_turns(
            two_parts().run("allocate", plugins=(GANG, unready, saying(contract.SUB_JOB_PIPELINED, always(vote))))
        )

    assert run(Vote.REJECT) == []
    assert run(Vote.PERMIT) == ["a-0", "a-1", "a-2", "a-3"]


# Domains --------------------------------------------------------------------------------------------------------------


def three_racks() -> Scenario:
    """Racks of two nodes for a pod each, and a job of two pods that must share one."""
    scenario = Scenario()
    for name in RACKS:
        nodes = [f"{name}-n{number}" for number in range(2)]
        for node in nodes:
            scenario = scenario.node(node, cpu=1)
        scenario = scenario.add(rack(name, *nodes))
    return scenario.job("a", tasks=2, group={"networkTopology": {"mode": "hard", "highestTierAllowed": 1}})


class Levels:
    """A function for a gradient: gives the same levels each time, and notes what it was asked."""

    def __init__(self, *levels: Sequence[str]) -> None:
        self._levels = levels
        self.asked: list[tuple[str, str, str]] = []

    def __call__(self, subject: SessionJob | SubJob, root: str, purpose: str) -> Sequence[Sequence[str]]:
        """Answer."""
        self.asked.append((type(subject).__name__, root, purpose))
        return self._levels


def rack_of(outcome: Outcome) -> str:
    """Return the rack that all bound pods are in; empty where none is bound."""
    racks = {node.partition("-")[0] for node in outcome.bindings.values()}
    assert len(racks) <= 1
    return "".join(racks)


def placed(*plugins: Any) -> str:
    """Return the rack that the job goes to with these plugins."""
    return rack_of(three_racks().run("allocate", plugins=("gang", "predicates", *plugins)))


def test_hyper_node_gradient_for_job_names_the_domains() -> None:
    """The first level that takes the job is used; domains that it does not name are not."""
    assert placed(saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, Levels(["r2"], ["r0", "r1"]))) == "r2"
    assert placed(saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, Levels(["r1"]))) == "r1"
    assert placed(saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, Levels())) == ""


def test_hyper_node_gradient_for_job_is_asked_from_the_root_and_the_first_function_decides() -> None:
    """With the purpose; the second plugin is not asked, but where the first is switched off."""
    first, second = Levels(["r1"]), Levels(["r2"])
    one = saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, first, name="one")
    other = saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, second, name="other")

    assert placed(one, other) == "r1"
    assert [(subject, purpose) for subject, _, purpose in first.asked] == [("SessionJob", "allocate")]
    assert second.asked == []
    assert placed({"name": one, "enabledHyperNodeGradient": False}, other) == "r2"


def test_hyper_node_gradient_for_sub_job_narrows_the_domains_of_the_job() -> None:
    """A job that nothing divides is its own part: of the job's domains those of the part are used."""
    inner = Levels(["r0", "r2"])
    job = saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, Levels(["r1", "r2"]), name="job")
    part = saying(contract.HYPER_NODE_GRADIENT_FOR_SUB_JOB, inner, name="part")

    assert placed(job, part) == "r2"
    assert [(subject, purpose) for subject, _, purpose in inner.asked] == [("SubJob", "allocate")]


def test_hyper_node_order_adds_the_scores_up() -> None:
    """The highest sum of all plugins wins; a domain without a score has none; the first of equal ones is taken."""
    level = saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, Levels(RACKS), name="level")
    one = saying(contract.HYPER_NODE_ORDER, always({"r0": 10.0, "r2": 15.0}), name="one")
    two = saying(contract.HYPER_NODE_ORDER, always({"r0": -5.0, "r1": 25.0, "r2": 9.0}), name="two")

    assert placed(level) == "r0"
    assert placed(level, one) == "r2"
    assert placed(level, one, two) == "r1"


def test_hyper_node_order_receives_the_nodes_of_each_domain() -> None:
    """Order of the domains by name; its flag disables it."""
    told: dict[str, list[str]] = {}

    def score(_: SubJob, nodes: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
        told.update({name: sorted(nodes[name]) for name in nodes})
        return {"r1": 1.0}

    level = saying(contract.HYPER_NODE_GRADIENT_FOR_JOB, Levels(RACKS), name="level")
    plugin = saying(contract.HYPER_NODE_ORDER, score)

    assert placed(level, plugin) == "r1"
    assert told == {rack: [f"{rack}-n0", f"{rack}-n1"] for rack in RACKS}
    assert placed(level, {"name": plugin, "enabledHyperNodeOrder": False}) == "r0"
