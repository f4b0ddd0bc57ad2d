"""An extender for random clusters: it answers by marks on nodes, pods and groups, regardless of other fields."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from pyroclast.framework.extension.outside import Answer, Question

__all__ = ["DRAINED", "KEPT", "MARKED", "RANK", "TOOLS", "VOTE", "Marked"]

DRAINED: Final = "extender.test/drained"
"""Label of a node, `true`: only pods with tools may go there."""
RANK: Final = "extender.test/rank"
"""Label of a node: how good it is, a whole number."""
TOOLS: Final = "extender.test/tools"
"""Annotation of a pod, `true`."""
KEPT: Final = "extender.test/kept"
"""Annotation of a pod, `true`: it is never a victim."""
VOTE: Final = "extender.test/vote"
"""Annotation of a group: a vote on it at the gate."""


class Marked:
    """Reads the marks in what it is sent."""

    def ask(self, question: Question) -> Answer:
        """Answer."""
        verbs: Mapping[str, Callable[[Any], Any]] = {
            "predicate": lambda body: _verdict(body["task"], body["node"]),
            "batchPredicate": lambda body: {
                "verdicts": {node["Name"]: _verdict(body["task"], node) for node in body["nodes"]}
            },
            "prioritize": lambda body: {"nodeScore": {node["Name"]: _rank(node) for node in body["nodes"]}},
            "preemptable": _victims,
            "reclaimable": _victims,
            "queueOverused": lambda _: {"overused": False},
            "jobReady": lambda _: {"status": True},
            "jobEnqueueable": lambda body: {
                "status": int(body["job"]["PodGroup"]["metadata"].get("annotations", {}).get(VOTE, "0"))
            },
        }
        answer = verbs.get(question.url.rpartition("/")[2], _nothing)
        return Answer(value=answer(msgspec.json.decode(question.body)))


def _nothing(_: Any) -> Any:
    """Answer a notification."""
    return {}


def _verdict(task: Any, node: Any) -> Any:
    if _labels(node).get(DRAINED) == "true" and task["PodAnnotations"].get(TOOLS) != "true":
        return {"status": "drained", "code": 3}
    return {"status": "", "code": 0}


def _rank(node: Any) -> int:
    return 10 * int(_labels(node).get(RANK, "0"))


def _labels(node: Any) -> Any:
    return node["Node"]["metadata"].get("labels", {})


def _victims(body: Any) -> Any:
    return {"status": 1, "victims": [each for each in body["evictees"] if each["PodAnnotations"].get(KEPT) != "true"]}


MARKED: Final = {"extender": Marked()}
"""Answers by plugin instance."""
