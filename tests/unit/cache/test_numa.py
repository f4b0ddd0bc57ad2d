"""The inside of nodes follows the objects, and an object that cannot be read is named once."""

from collections.abc import Mapping
from typing import Any

from cache.objects import decoded
from cache.state import Books
from model.errors import ObjectError
from model.ids import NodeName
from tests.numatopologies import numatopology

N1, N2 = NodeName("n1"), NodeName("n2")


def apply(books: Books, *objects: Mapping[str, Any]) -> None:
    """Take over objects."""
    for kind, each in decoded(objects):
        books.apply(kind, each)


def test_a_topology_is_read_once_for_each_version() -> None:
    """What did not change is the same reading; a snapshot of other changes has the same mapping."""
    books = Books()
    apply(books, numatopology("n1"), numatopology("n2"))
    first = books.snapshot().numa

    apply(books, {"kind": "Queue", "metadata": {"name": "q"}})
    assert books.snapshot().numa is first

    apply(books, numatopology("n1", free="4-7"))
    second = books.snapshot().numa
    assert second[N2] is first[N2]
    changed = second[N1]
    assert changed is not None
    assert changed.free == 0b11110000


def test_a_topology_that_goes_is_forgotten() -> None:
    """As if it had never been."""
    books = Books()
    ((kind, topology),) = decoded([numatopology("n1")])
    books.apply(kind, topology)
    assert set(books.snapshot().numa) == {"n1"}

    books.remove(kind, topology)

    assert books.snapshot().numa == {}


def test_a_broken_topology_is_named_once_and_the_rest_is_served() -> None:
    """It is told again when it changes and is still broken."""
    faults: list[ObjectError] = []
    books = Books(report=faults.append)
    apply(books, numatopology("n1", free="0-"), numatopology("n2"))
    assert books.snapshot().numa[N1] is None
    assert books.snapshot().numa[N2] is not None

    apply(books, {"kind": "Queue", "metadata": {"name": "q"}}, numatopology("n2", free="0"))
    books.snapshot()
    told = [(fault.kind, fault.name, fault.path, fault.message) for fault in faults]
    message = "'0-' is neither a CPU nor a range of CPUs such as 2-4"
    assert told == [("Numatopology", "n1", "spec.numares.cpu.allocatable", message)]
    assert books.fault_counts == {"Numatopology": 1}

    apply(books, numatopology("n1", free="1-"))
    books.snapshot()
    assert len(faults) == 2


def test_tasks_with_different_policies_share_no_template() -> None:
    """What the annotation says decides where a pod may go."""
    pods = [
        {"kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": {"schedulerName": "volcano"}}
        for name, annotations in (
            ("a", {}),
            ("b", {"volcano.sh/numa-topology-policy": "restricted"}),
            ("c", {"volcano.sh/numa-topology-policy": "restricted"}),
        )
    ]
    books = Books()
    apply(books, *pods)
    tasks = {outsider.task.name: outsider.task for outsider in books.snapshot().outsiders}

    assert tasks["a"].template is not tasks["b"].template
    assert tasks["b"].template is tasks["c"].template
