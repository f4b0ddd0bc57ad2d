"""Identity: the gang of a pod, and the names of the jobs of gangs."""

import re
from hashlib import blake2b
from typing import Final

from pyroclast.model import wire
from pyroclast.model.gangs.names import LABEL_NAME, LABEL_POD_GROUP, NAME
from pyroclast.model.ids import JobId

__all__ = ["gang_of", "group_id", "job_of_group"]

_LONGEST_NAME: Final = 200
"""Characters of a job's name; groups may list thousands of gangs."""
_LONGEST_NAMESPACE: Final = 63
"""Characters of a namespace, as Kubernetes has them."""
_PLAIN: Final = re.compile(rf"[\w.-]{{1,{_LONGEST_NAMESPACE}}}/[\w.-]+")
"""Ids of gangs that are unambiguous inside a job's name."""


def gang_of(metadata: wire.ObjectMeta) -> str:
    """Return the id of a pod's gang, `namespace/name`; empty if it names none."""
    labels = metadata.labels
    name = labels.get(LABEL_POD_GROUP) or labels.get(LABEL_NAME) or metadata.annotations.get(NAME)
    return f"{metadata.namespace}/{name}" if name else ""


def group_id(gangs: tuple[str, ...]) -> str:
    """Return the id of a gang group, as Koordinator writes it; its gangs are sorted."""
    return ",".join(gangs)


def job_of_group(gangs: tuple[str, ...], *, is_free: bool = False) -> JobId:
    """Return the job id of a gang group, which no PodGroup can have: `namespace/gang:first,namespace/second`.

    Args:
        gangs: Ids of its gangs, sorted.
        is_free: Whether it is the job of members that are placed alone while others of the group must still wait.
    """
    namespace, _, name = group_id(gangs).partition("/")
    if len(name) > _LONGEST_NAME or not all(map(_PLAIN.fullmatch, gangs)):
        # names in annotations may have any characters, and no two groups may be one job
        digest = blake2b("".join(f"{len(each)}:{each}" for each in gangs).encode(), digest_size=8)
        name = f"{name[:_LONGEST_NAME]}~{digest.hexdigest()}"
    return JobId(f"{namespace[:_LONGEST_NAMESPACE]}/gang:{name}{':free' if is_free else ''}")
