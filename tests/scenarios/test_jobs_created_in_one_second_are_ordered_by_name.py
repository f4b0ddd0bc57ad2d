"""Jobs and pods that were created in one second are ordered by their names, never by their random UIDs."""

import pytest

from pyroclast.testing import Scenario

SECOND = "2026-01-01T00:00:00Z"


def job(name: str, uid: str, **group: object) -> Scenario:
    """Return a pending job of one pod; both were created in the same second as those of other calls."""
    made = Scenario().job(name, cpu=1)
    objects = [
        {**each, "metadata": {**each["metadata"], "creationTimestamp": SECOND, "uid": uid, **group}}
        if each["kind"] == "PodGroup"
        else {**each, "metadata": {**each["metadata"], "creationTimestamp": SECOND, "uid": f"{uid}-pod"}}
        for each in made.objects
    ]
    return Scenario(objects=tuple(objects))


@pytest.mark.parametrize("uids", [("1", "2"), ("2", "1")])
def test_two_jobs_go_by_name(uids: tuple[str, str]) -> None:
    """There is room for one of them, and it is the same one whatever the UIDs."""
    scenario = Scenario().node("n1", cpu=1).add(*job("b", uids[0]).objects, *job("a", uids[1]).objects)
    outcome = scenario.run("enqueue", "allocate", plugins=("gang", "predicates"))

    assert outcome.bindings == {"a-0": "n1"}


@pytest.mark.parametrize("uids", [("1", "x"), ("x", "1")])
def test_groups_named_after_a_uid_go_by_the_name_of_their_job(uids: tuple[str, str]) -> None:
    """The job `train` goes before `train-2` whatever the UIDs that follow in the names of their groups."""
    owned = [
        job(
            f"{name}-{uid}",
            f"group-{uid}",
            ownerReferences=[{"kind": "Job", "name": name, "uid": uid, "controller": True}],
        )
        for name, uid in zip(("train-2", "train"), uids, strict=True)
    ]
    scenario = Scenario().node("n1", cpu=1).add(*(each for one in owned for each in one.objects))
    outcome = scenario.run("enqueue", "allocate", plugins=("gang", "predicates"))

    assert outcome.bindings == {f"train-{uids[1]}-0": "n1"}


@pytest.mark.parametrize("uids", [("1", "2"), ("2", "1")])
def test_pods_of_a_job_go_by_name(uids: tuple[str, str]) -> None:
    """Two members beyond the minimum, without an index in their names: the first in the alphabet comes first."""
    scenario = Scenario().node("n1", cpu=1).job("j", tasks=0, min_available=1)
    for name, uid in zip(("right", "left"), uids, strict=True):
        pod = Scenario().pod(name, job="j").objects[0]
        scenario = scenario.add({**pod, "metadata": {**pod["metadata"], "creationTimestamp": SECOND, "uid": uid}})
    outcome = scenario.run("enqueue", "allocate", plugins=("gang", "predicates"))

    assert outcome.bindings == {"left": "n1"}
