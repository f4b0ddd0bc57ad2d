"""What a status remembers is written and read without loss, and nothing else is touched."""

from hypothesis import given
from hypothesis import strategies as st

from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import PodPlace
from pyroclast.controllers.jobs.decision.targets import ALL, UNFINISHED, Target

places = st.builds(PodPlace, st.sampled_from(["worker", "ps-1", "master"]), st.integers(0, 30))
targets = st.one_of(
    st.sampled_from([ALL, UNFINISHED]),
    st.builds(lambda name: Target("task", name), st.sampled_from(["worker", "ps-1"])),
    st.builds(Target, st.sampled_from(["pod", "partition"]), st.sampled_from(["worker", "ps-1"]), st.integers(0, 30)),
)


def test_as_it_is_written() -> None:
    """Indexes are ranges, moments are whole seconds."""
    memory = JobMemory(
        known=frozenset(PodPlace("worker", index) for index in (0, 1, 2, 5)),
        evicted={PodPlace("worker", 3): 1_767_225_600.7},
        restarting=(Target("pod", "worker", 3), Target("partition", "ps", 1)),
        command="c-1",
        others={"plugin-svc": "svc"},
    )
    assert memory.write() == {
        "command": "c-1",
        "evicted-worker": "3@1767225600",
        "plugin-svc": "svc",
        "pods-worker": "0-2,5",
        "restarting": "partition/ps/1,pod/worker/3",
    }


@given(
    known=st.frozensets(places),
    evicted=st.dictionaries(places, st.integers(0, 2**31).map(float)),
    restarting=st.sets(targets),
    command=st.sampled_from(["", "c-1"]),
)
def test_written_and_read(
    known: frozenset[PodPlace], evicted: dict[PodPlace, float], restarting: set[Target], command: str
) -> None:
    """Reading gives back what was written."""
    memory = JobMemory(
        known=known,
        evicted=evicted,
        restarting=tuple(sorted(restarting)),
        command=command,
        others={"volume-pvc-x": "x"},
    )
    assert JobMemory.read(memory.write()) == memory


@given(st.dictionaries(st.sampled_from(["pods-a", "evicted-a", "restarting", "command", "x"]), st.text(max_size=20)))
def test_nothing_that_stands_there_breaks_it(resources: dict[str, str]) -> None:
    """Whatever others write there is read as far as it makes sense."""
    assert JobMemory.read(resources).others.get("x") == resources.get("x")
