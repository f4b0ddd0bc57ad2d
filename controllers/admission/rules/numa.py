"""NUMA alignment of a task: containers request whole CPUs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.shape import member
from pyroclast.model import quantity
from pyroclast.model.api.batch import NumaPolicy, TaskSpec

__all__ = ["numa_faults"]

_WITHOUT: Final = frozenset({"", NumaPolicy.NONE})


def numa_faults(task: TaskSpec, field: str, number: int) -> Iterator[Fault]:
    """Find containers that request no whole CPUs in a task that requires NUMA alignment.

    Args:
        task: The task.
        field: Path of the task.
        number: Its number in the Job, for the message.
    """
    if task.topology_policy in _WITHOUT:
        return
    place = 0
    for group in ("containers", "initContainers"):
        containers = member(task.template, "spec", group)
        for position, container in enumerate(containers if isinstance(containers, list) else ()):
            cpu = _cpu_request(container)
            if not _is_whole(cpu):
                yield Fault(
                    field=f"{field}.template.spec.{group}[{position}].resources.requests.cpu",
                    value=cpu,
                    expected=f"1 or another whole number of CPUs, as `topologyPolicy` is {task.topology_policy}",
                    rule=f"the cpu request isn't an integer in spec.task[{number}] container[{place}].",
                )
            place += 1


def _cpu_request(container: object) -> object:
    """Return the CPU request of a container. A container without requests has its limit as request."""
    resources: Any = member(container, "resources")
    requests = member(resources, "requests")
    asked = requests if isinstance(requests, Mapping) and requests else member(resources, "limits")
    return member(asked, "cpu")


def _is_whole(cpu: object) -> bool:
    if not isinstance(cpu, str | int | float) or isinstance(cpu, bool):
        return False
    try:
        amount = quantity.parse(cpu)
    except quantity.QuantityError:
        return True  # the rules for templates report it
    return amount != 0 and amount.denominator == 1
