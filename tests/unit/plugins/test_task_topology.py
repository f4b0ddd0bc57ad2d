"""Task-topology: annotations, buckets and the worked example of docs/plugins/task-topology.md."""

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.session.memory import Settled
from pyroclast.model import wire
from pyroclast.plugins.task_topology.buckets import weight_of
from pyroclast.plugins.task_topology.relations import (
    AFFINITY,
    ANTI_AFFINITY,
    ORDER,
    RelationsError,
    groups_of,
    read_relations,
)
from tests.unit.plugins.policies import World, group, node, opened, pod

WEIGHT_10 = {"name": "task-topology", "arguments": {"task-topology.weight": 10}}
ROLES = ("ps", "worker", "chief", "evaluator")


def member(name: str, role: str, **others: str) -> wire.Pod:
    """Return a pod of a role."""
    return pod(name, annotations={"volcano.sh/task-spec": role}, **others)  # type: ignore[arg-type]  # texts alone


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("ps,worker;ps,,chief,;", [["ps", "worker"], ["ps", "", "chief", ""], [""]]),
        ("ps;worker,chief;;;", [["ps"], ["worker", "chief"], [""], [""], [""]]),
    ],
)
def test_empty_names_stay(text: str, groups: list[list[str]]) -> None:
    """In groups, and as groups."""
    assert groups_of(text) == groups


def test_empty_names_in_the_order_take_places() -> None:
    """Three at the end push the others up."""
    relations = read_relations({ORDER: "ps,worker,chief,evaluator,,,"}, ROLES, "ns/job")

    assert relations is not None
    assert [relations.places[role] for role in ROLES] == [7, 6, 5, 4]


@pytest.mark.parametrize("key", [AFFINITY, ANTI_AFFINITY, ORDER])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ps,other", "task other do not exist in job <ns/job>"),
        ("ps,worker,ps", "task ps is duplicate in job <ns/job>"),
    ],
)
def test_wrong_names(key: str, text: str, message: str) -> None:
    """An unknown role, or one twice in a group, is reported."""
    with pytest.raises(RelationsError, match=message):
        read_relations({key: text}, ROLES, "ns/job")


def test_nothing_said() -> None:
    """Without annotations there are no relations."""
    assert read_relations({"other": "x"}, ROLES, "ns/job") is None


def test_the_strongest_relation_ranks() -> None:
    """Self anti-affinity 4, affinity 3, self affinity 2, anti-affinity 1."""
    said = {AFFINITY: "ps,worker;ps;chief", ANTI_AFFINITY: "ps;chief,evaluator;worker,chief"}

    relations = read_relations(said, ROLES, "ns/job")

    assert relations is not None
    assert {role: int(relations.ranks[role]) for role in ROLES} == {"ps": 4, "worker": 3, "chief": 2, "evaluator": 1}


def test_how_heavy_a_request_is() -> None:
    """A core, a GiB and a device count 1000, 1024 and 1000; a pod counts 1."""
    request = {"cpu": 1000, "memory": 2**30 * 1000, "nvidia.com/gpu": 1000, "pods": 1000}

    assert weight_of(request) == (1000 + 1024 + 1000 + 1) * 2**20


def example() -> World:
    """Return the example of the page."""
    return opened(
        node("n1"),
        node("n2"),
        node("n3", cpu="2"),
        node("n4", cpu="0"),
        group("job", annotations={AFFINITY: "ps,worker"}),
        member("p", "ps", on="n1"),
        *(member(f"w{number}", "worker") for number in range(3)),
        plugins=[WEIGHT_10],
    )


def test_scores_of_the_example() -> None:
    """A bucket of four of which one is bound on n1."""
    assert example().scores("w0") == {"n1": 1000.0, "n2": 750.0, "n3": 500.0, "n4": 0.0}


def test_placements_count_until_they_are_undone() -> None:
    """A placed task counts on its node, no longer as pending; undone, everything is as before."""
    there = example()
    before = there.scores("w0")
    statement = there.session.statement()

    there.place(statement, "w1", "n2")

    assert there.scores("w0") == {"n1": 750.0, "n2": 750.0, "n3": 500.0, "n4": 0.0}
    statement.undo()
    assert there.scores("w0") == before


def test_anti_affinity_counts_against_what_was_placed_just_now() -> None:
    """A node with a task of the same role, placed in this session, is worth less, even less than nothing."""
    there = opened(
        node("n1"),
        node("n2"),
        group("job", annotations={ANTI_AFFINITY: "worker"}),
        *(member(f"w{number}", "worker") for number in range(3)),
        plugins=[WEIGHT_10],
    )
    statement = there.session.statement()

    there.place(statement, "w0", "n1")
    there.place(statement, "w1", "n1")

    assert there.scores("w2") == {"n1": -1000.0, "n2": 1000.0}


def order(there: World, *names: str) -> list[str]:
    """Sort tasks by what the plugin says."""
    key = there.function(contract.TASK_ORDER, "task-topology").function
    return [task.name for task in sorted(there.tasks(*names), key=key)]


def test_tasks_go_by_bucket_then_by_order() -> None:
    """The fuller bucket first, inside it the roles in their order; tasks without a bucket last."""
    there = opened(
        node("n1"),
        group("job", annotations={AFFINITY: "ps,worker", ANTI_AFFINITY: "ps", ORDER: "worker,ps"}),
        member("c", "chief"),
        member("p0", "ps"),
        member("p1", "ps"),
        *(member(f"w{number}", "worker") for number in range(3)),
        plugins=["task-topology"],
    )

    assert order(there, "c", "p0", "p1", "w0", "w1", "w2") == ["w0", "w1", "w2", "p0", "p1", "c"]


def test_a_role_apart_from_itself_gets_a_bucket_each() -> None:
    """Two workers that repel each other are never counted together."""
    there = opened(
        node("n1"),
        group("job", annotations={ANTI_AFFINITY: "worker"}),
        *(member(f"w{number}", "worker") for number in range(2)),
        plugins=["task-topology"],
    )

    assert there.scores("w0") == {"n1": 100.0}


def test_a_wrong_name_leaves_the_job_alone() -> None:
    """Nothing is scored and nothing fails."""
    there = opened(
        node("n1"),
        group("job", annotations={AFFINITY: "worker,other"}),
        member("w0", "worker"),
        plugins=["task-topology"],
    )

    assert there.scores("w0") == {"n1": 0.0}


def told(there: World) -> list[tuple[str, str, str, str]]:
    """Kind, name, reason and message of the events of a session in which the task w0 was looked at."""
    there.scores("w0")
    return [(each.kind, each.name, each.reason, each.message) for each in there.session.report.events]


def test_a_wrong_name_is_reported_to_the_owner() -> None:
    """Reported by an event on the group."""
    wrong = group("job", annotations={AFFINITY: "worker,other"})
    there = opened(node("n1"), wrong, member("w0", "worker"), plugins=["task-topology"])

    message = "task other do not exist in job <ns/job>; the job is scheduled without its task topology"
    assert told(there) == [("PodGroup", "job", "TaskTopologyInvalid", message)]


def test_a_wrong_name_is_reported_once() -> None:
    """Not in the next cycle; other words are news, and so is everything once the group was gone."""
    settled = Settled()
    texts = ("worker,other", "worker,other", "worker,worker")

    assert [len(told(opened_again(settled, text))) for text in texts] == [1, 0, 1]
    settled.forget_gone({})
    assert len(told(opened_again(settled, texts[-1]))) == 1


def opened_again(settled: Settled, affinity: str) -> World:
    """The next cycle: a session of a job whose annotation is as given."""
    there = opened(
        node("n1"), group("job", annotations={AFFINITY: affinity}), member("w0", "worker"), plugins=["task-topology"]
    )
    there.session.report._settled = settled
    return there


def test_roles_that_may_still_be_created_are_not_reported() -> None:
    """One of two pods that the group needs is there; the other may be of the role that lacks."""
    early = group("job", minimum=2, annotations={AFFINITY: "worker,other"})

    assert told(opened(node("n1"), early, member("w0", "worker"), plugins=["task-topology"])) == []
