"""Access reviews: every authenticated user has all permissions."""

from collections.abc import Callable
from typing import Any

from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.crud import check_type
from pyroclast.emulator.operations.strategies import section
from pyroclast.emulator.requests.calls import Call

__all__ = ["REVIEWS"]

Object = dict[str, Any]

ADMIN = {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]}
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
EVERY_PATH = {"verbs": ["*"], "nonResourceURLs": ["*"]}


def answered(status: Object) -> Callable[[Cluster, Call, Object], Object]:
    """A review that is always answered the same."""

    def review(_cluster: Cluster, call: Call, tree: Object) -> Object:
        check_type(tree, call.resource)
        section(tree, "metadata")
        tree["status"] = dict(status)
        return tree

    return review


ALLOWED = answered({"allowed": True, "reason": "the emulator allows everything"})
REVIEWS: dict[tuple[str, str], Callable[[Cluster, Call, Object], Object]] = {
    ("authorization.k8s.io", "selfsubjectaccessreviews"): ALLOWED,
    ("authorization.k8s.io", "subjectaccessreviews"): ALLOWED,
    ("authorization.k8s.io", "localsubjectaccessreviews"): ALLOWED,
    ("authorization.k8s.io", "selfsubjectrulesreviews"): answered(
        {"resourceRules": [EVERYTHING], "nonResourceRules": [EVERY_PATH], "incomplete": False}
    ),
    ("authentication.k8s.io", "selfsubjectreviews"): answered({"userInfo": ADMIN}),
    ("authentication.k8s.io", "tokenreviews"): answered({"authenticated": True, "user": ADMIN}),
}
"""Answers by group and plural."""
