"""An idle cluster is used: no job is refused by a share in two cycles together while idle nodes have room for it.

Only where nothing but amounts decides which node takes a pod. Unused guarantees of other queues are not idle.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyroclast.emulator.kinds.quantities import amount
from pyroclast.model.report import CycleReport

__all__ = ["IdleRoom"]

Object = dict[str, Any]
PLAIN: Final = frozenset(
    {"binpack", "conformance", "drf", "gang", "nodeorder", "overcommit", "pdb", "predicates", "priority", "proportion"}
)
"""Plugins beside which amounts decide."""


class IdleRoom:
    """Looks for idle room after each cycle."""

    def __init__(self, plugins: frozenset[str]) -> None:
        self._is_concerned = "proportion" in plugins and plugins <= PLAIN
        self._found: frozenset[str] = frozenset()
        """Jobs found in the last cycle: objects may be a little newer than what a cycle saw."""

    def look(
        self,
        report: CycleReport,
        nodes: list[Object],
        queues: list[Object],
        jobs: Mapping[str, tuple[str, int, list[Object]]],
    ) -> Iterator[str]:
        """Yield the jobs that could run on idle nodes for the second time.

        Args:
            report: What was decided.
            nodes: All nodes.
            queues: All queues.
            jobs: Queue, minimum, and number of pods that have not ended, by name.
        """
        found = frozenset(self._found_now(report, nodes, queues, jobs) if self._is_concerned else ())
        yield from (f"{name} waits for a share alone while nodes are idle" for name in sorted(found & self._found))
        self._found = found

    def _found_now(
        self,
        report: CycleReport,
        nodes: list[Object],
        queues: list[Object],
        jobs: Mapping[str, tuple[str, int, list[Object]]],
    ) -> Iterator[str]:
        if any(report.pipelined.values()):
            return  # some of what is idle is held
        idle = {node["metadata"]["name"]: _amounts(node["status"]["allocatable"]) for node in nodes if _takes_all(node)}
        used: dict[str, Counter[str]] = {}
        for queue, _, pods in jobs.values():
            for pod in pods:
                if node := pod["spec"].get("nodeName"):
                    used.setdefault(queue, Counter()).update(_request(pod))
                    idle.get(node, Counter()).subtract(_request(pod))
        limits = {each["metadata"]["name"]: _amounts(each["spec"].get("capability", {})) for each in queues}
        unused = {
            each["metadata"]["name"]: _amounts(each["spec"].get("guarantee", {}).get("resource", {}))
            - used.get(each["metadata"]["name"], Counter())
            for each in queues
        }
        free = sum((+room for room in idle.values()), Counter())
        for name, (queue, minimum, pods) in jobs.items():
            waiting = [pod for pod in pods if _is_kept_by_share(report, pod)]
            missing = max(minimum - sum(bool(pod["spec"].get("nodeName")) for pod in pods), 1)
            if len(waiting) < missing:
                continue
            request = _request(waiting[0])
            places = sum(max(0, min(room[each] // need for each, need in request.items())) for room in idle.values())
            total = {each: used.get(queue, Counter())[each] + missing * need for each, need in request.items()}
            kept = sum((amounts for other, amounts in unused.items() if other != queue), Counter())
            is_kept = any(kept[each] and missing * need > free[each] - kept[each] for each, need in request.items())
            is_within = all(total.get(each, 0) <= most for each, most in limits[queue].items() if most)
            if places >= missing and is_within and not is_kept:
                yield name


def _takes_all(node: Object) -> bool:
    ready = [each["status"] for each in node["status"].get("conditions", []) if each["type"] == "Ready"]
    return not node["spec"].get("unschedulable") and not node["spec"].get("taints") and ready in ([], ["True"])


def _is_kept_by_share(report: CycleReport, pod: Object) -> bool:
    refusals = report.task_refusals.get(pod["metadata"]["uid"], ())
    return not pod["spec"].get("nodeName") and bool(refusals) and all(each.lendable for each in refusals)


def _request(pod: Object) -> Counter[str]:
    total: Counter[str] = Counter(pods=1)
    for container in pod["spec"]["containers"]:
        total.update(_amounts(container.get("resources", {}).get("requests", {})))
    return Counter({name: number for name, number in total.items() if number})


def _amounts(listed: Object) -> Counter[str]:
    return Counter({name: amount(str(value)) or 0 for name, value in listed.items()})
