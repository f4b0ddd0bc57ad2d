"""Terms of pods on nodes, of any scheduler, cost a cycle a bounded part; those of usual clusters all count."""

from typing import Any

import pytest

from pyroclast.framework.session.pods import TermKind, session_pods
from pyroclast.framework.session.session import Session
from pyroclast.model.ids import JobId
from pyroclast.model.matching.bounds import MOST_POD_TERMS
from pyroclast.testing import Scenario, open_session

ANTI = TermKind.REQUIRED_ANTI_AFFINITY
HOSTNAME = "kubernetes.io/hostname"


def apart(*values: str) -> dict[str, Any]:
    """Anti-affinity of all pods of all namespaces, in one term for each value."""
    terms = [
        {
            "topologyKey": HOSTNAME,
            "namespaceSelector": {},
            "labelSelector": {"matchExpressions": [{"key": "none", "operator": "NotIn", "values": [value]}]},
        }
        for value in values
    ]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def others(pods: int, terms: int, *, namespace: str = "noisy", first: int = 0) -> list[dict[str, Any]]:
    """Pods of another scheduler on node n1, with terms of which no two are alike."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}", "namespace": namespace, "uid": f"{namespace}-{number}"},
            "spec": {
                "nodeName": "n1",
                "schedulerName": "other",
                "containers": [{"name": "main", "resources": {"requests": {"cpu": "1m"}}}],
                **apart(*(f"{namespace}-{number}-{term}" for term in range(terms))),
            },
            "status": {"phase": "Running"},
        }
        for number in range(first, first + pods)
    ]


def opened(*objects: dict[str, Any]) -> Session:
    """Open a session with two nodes, these pods and a job that waits."""
    scenario = Scenario().node("n1", labels={HOSTNAME: "n1"}).node("n2", labels={HOSTNAME: "n2"})
    namespaces = ({"kind": "Namespace", "metadata": {"name": name}} for name in ("default", "noisy", "quiet"))
    return open_session(scenario.job("a", cpu=1).add(*namespaces, *objects), plugins=(("gang",), ("predicates",)))


def about(session: Session) -> int:
    """Count the terms that concern the job that waits."""
    job = session.jobs.get(JobId("default/a"))
    assert job is not None
    (task,) = job.tasks.values()
    return len(session_pods(session).held_about(ANTI, task))


def test_terms_of_other_schedulers_count() -> None:
    """As many as a pod may have."""
    assert about(opened(*others(1, MOST_POD_TERMS))) == MOST_POD_TERMS


def test_a_pod_with_too_many_terms_counts_without_them() -> None:
    """A pod of this scheduler with as many is never placed."""
    session = opened(*others(1, MOST_POD_TERMS + 1))

    assert about(session) == 0
    assert not list(session_pods(session).held(ANTI))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_namespace_has_a_bounded_number_of_terms(backwards: bool) -> None:
    """Pods beyond it count without theirs, the same ones in any order; those of other namespaces keep theirs."""
    noisy = others(20, 100)
    session = opened(*(reversed(noisy) if backwards else noisy), *others(1, 2, namespace="quiet"))

    held = list(session_pods(session).held(ANTI))
    values = [each.term.pods.selector for each in held]
    assert 512 <= len(held) <= 512 + MOST_POD_TERMS + 2
    assert sum("quiet" in str(value) for value in values) == 2
    kept = {number for number in range(20) if any(f"'noisy-{number}-0'" in str(value) for value in values)}
    assert kept == {0, 1, 10, 11, 12, 13}  # by age, then by uid


def test_a_task_is_compared_with_a_bounded_number_of_terms() -> None:
    """All 400 terms would match it."""
    assert about(opened(*others(4, 100))) == 128


def test_terms_of_many_namespaces_are_bounded_together() -> None:
    """Twenty namespaces with 500 terms each."""
    pods = [pod for number in range(20) for pod in others(5, 100, namespace=f"many-{number}")]
    names = ({"kind": "Namespace", "metadata": {"name": f"many-{number}"}} for number in range(20))
    session = opened(*names, *pods)

    assert len(list(session_pods(session).held(ANTI))) <= 4096 + MOST_POD_TERMS


def test_a_pod_whose_terms_do_not_count_can_go() -> None:
    """Its eviction takes nothing off counts that never had it."""
    session = opened(*others(20, 100))
    pods = session_pods(session)
    before = [each.holders.total for each in pods.held(ANTI)]
    for task in session.snapshot.tasks_with_affinity:
        pods._shift_held_of(task, 0, -1)  # as an eviction does
    assert set(before) == {1}
    assert {each.holders.total for each in pods.held(ANTI)} == {0}


def events(*objects: dict[str, Any], cycles: int = 1) -> list[list[tuple[str, str]]]:
    """Run cycles; return the pods with an event about ignored terms, and the texts, by cycle."""
    namespaces = ({"kind": "Namespace", "metadata": {"name": name}} for name in ("default", "noisy"))
    outcome = (
        Scenario()
        .node("n1", labels={HOSTNAME: "n1"})
        .node("n2", labels={HOSTNAME: "n2"})
        .job("a", cpu=1)
        .add(*namespaces, *objects)
        .run("allocate", plugins=("gang", "predicates"), cycles=cycles)
    )
    return [
        [(event.name, event.message) for event in each.report.events if event.reason == "PodTermsIgnored"]
        for each in outcome.rounds
    ]


def test_pods_whose_terms_do_not_count_get_an_event_once() -> None:
    """The pod that may be placed beside too many terms gets one, too."""
    first, *later = events(*others(7, 100), cycles=3)

    assert {name for name, _ in first} == {"p6", "a-0"}
    assert "the 100 terms" in dict(first)["p6"]
    assert not any(later)


def test_a_cycle_records_a_bounded_number_of_events_about_terms() -> None:
    """The other pods get theirs in later cycles."""
    (first,) = events(*others(106, 129))

    assert len(first) == 64


def test_usual_terms_cause_no_event() -> None:
    """All of them count."""
    assert events(*others(2, 10)) == [[]]
