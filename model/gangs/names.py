"""Names: labels and annotations of gangs, and annotations written on bound members."""

from typing import Final

__all__ = [
    "ALIAS_MATCH_POLICY",
    "BIND_ANNOTATIONS",
    "GROUPS",
    "LABEL_MIN_AVAILABLE",
    "LABEL_NAME",
    "LABEL_POD_GROUP",
    "MATCH_POLICIES",
    "MATCH_POLICY",
    "MIN_AVAILABLE",
    "MODE",
    "MODES",
    "NAME",
    "NON_STRICT",
    "ONCE_SATISFIED",
    "ONLY_WAITING",
    "STRICT",
    "TOPOLOGY_INDEX",
    "TOPOLOGY_SELECTOR",
    "TOTAL_NUMBER",
    "WAITING_AND_RUNNING",
    "WAITING_TIME",
]

_SIGS: Final = "pod-group.scheduling.sigs.k8s.io"
_PREFIX: Final = "gang.scheduling.koordinator.sh/"

LABEL_POD_GROUP: Final = _SIGS
"""Label of a pod: the pod group that describes its gang."""
LABEL_NAME: Final = f"{_SIGS}/name"
"""Label of a pod: its gang, which its annotations describe."""
LABEL_MIN_AVAILABLE: Final = f"{_SIGS}/min-available"
"""Label of a pod: the minimum. Takes precedence over the annotation."""
ALIAS_MATCH_POLICY: Final = f"{_SIGS}/match-policy"
"""Annotation: the match policy, if Koordinator's own key is absent."""

NAME: Final = f"{_PREFIX}name"
"""Annotation of a pod: its gang, which its annotations describe."""
MIN_AVAILABLE: Final = f"{_PREFIX}min-available"
"""Annotation of a pod: the minimum number of members."""
TOTAL_NUMBER: Final = f"{_PREFIX}total-number"
"""Annotation: the expected number of members. Informational."""
MODE: Final = f"{_PREFIX}mode"
"""Annotation: `Strict` or `NonStrict`."""
WAITING_TIME: Final = f"{_PREFIX}waiting-time"
"""Annotation of a pod: time that members wait for each other, as a Go duration."""
GROUPS: Final = f"{_PREFIX}groups"
"""Annotation, a JSON list of `namespace/name`: the gangs that must come together."""
MATCH_POLICY: Final = f"{_PREFIX}match-policy"
"""Annotation: which members count towards the minimum."""
TOPOLOGY_INDEX: Final = f"{_PREFIX}network-topology-index"
"""Annotation of a pod: its rank inside its gang."""

TOPOLOGY_SELECTOR: Final = "scheduling.koordinator.sh/network-topology-selector"
"""Annotation of a pod: pods with an equal value are placed close to each other, in all namespaces."""

STRICT: Final = "Strict"
NON_STRICT: Final = "NonStrict"
MODES: Final = (STRICT, NON_STRICT)

ONLY_WAITING: Final = "only-waiting"
"""Members that are placed together count. Members on nodes do not."""
WAITING_AND_RUNNING: Final = "waiting-and-running"
"""Members that are placed together and members on nodes count."""
ONCE_SATISFIED: Final = "once-satisfied"
"""As `ONLY_WAITING`, until the first member of the group is bound. Then each member is placed alone."""
MATCH_POLICIES: Final = (ONCE_SATISFIED, ONLY_WAITING, WAITING_AND_RUNNING)

_INTERNAL: Final = "internal.scheduling.koordinator.sh/"
_DEPRECATED: Final = "scheduling.koordinator.sh/"

BIND_ANNOTATIONS: Final = tuple(
    (f"{prefix}bind-gang-group-id", f"{prefix}bind-gang-member-count") for prefix in (_INTERNAL, _DEPRECATED)
)
"""Annotations written with the binding of members that are bound together: the gang group's id, and how many."""
