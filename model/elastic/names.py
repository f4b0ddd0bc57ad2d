"""Names that users of elastic quotas write, and those of the quotas that are always there."""

from typing import Final

__all__ = [
    "ADMISSION",
    "ALLOCATED",
    "ALLOW_FORCE_UPDATE",
    "ALLOW_LENT_RESOURCE",
    "CHILD_REQUEST",
    "DEFAULT_QUOTA",
    "GUARANTEED",
    "IGNORE_DEFAULT_TREE",
    "IS_PARENT",
    "IS_ROOT",
    "MAX_STRICT_CHECK",
    "NAMESPACES",
    "NON_PREEMPTIBLE_REQUEST",
    "NON_PREEMPTIBLE_USED",
    "PARENT",
    "PREEMPTIBLE",
    "PROFILE",
    "QUOTA_NAME",
    "REQUEST",
    "RESOURCE_KEYS",
    "ROOT_QUOTA",
    "RUNTIME",
    "SHARED_WEIGHT",
    "SYSTEM_QUOTA",
    "TOTAL_RESOURCE",
    "TREE_ID",
    "UNSCHEDULABLE_RESOURCE",
]

_PREFIX: Final = "quota.scheduling.koordinator.sh/"

QUOTA_NAME: Final = _PREFIX + "name"
"""Label of a pod: the quota that it uses."""
PREEMPTIBLE: Final = _PREFIX + "preemptible"
"""Label of a pod: `false` keeps it from being evicted for the sake of quotas, and holds it to the guarantee."""
PARENT: Final = _PREFIX + "parent"
"""Label of a quota: its parent; the root if absent."""
IS_PARENT: Final = _PREFIX + "is-parent"
"""Label of a quota: `true` if it may have children."""
TREE_ID: Final = _PREFIX + "tree-id"
"""Label of a quota: its tree, if there are several."""
IS_ROOT: Final = _PREFIX + "is-root"
"""Label of a quota: `true` for the root of a tree, which gives the tree's amounts in `TOTAL_RESOURCE`."""
IGNORE_DEFAULT_TREE: Final = _PREFIX + "ignore-default-tree"
"""Label of the root of a tree: `true` if the amounts of the tree are not deducted from the default tree."""
ALLOW_FORCE_UPDATE: Final = _PREFIX + "allow-force-update"
"""Label of a quota: `true` allows guarantees whose sum exceeds that of the parent."""
ALLOW_LENT_RESOURCE: Final = _PREFIX + "allow-lent-resource"
"""Label of a quota: with `false`, its guarantee is not lent while it is not requested."""
SHARED_WEIGHT: Final = _PREFIX + "shared-weight"
"""Annotation of a quota, a resource list: its weight for resources that are not guaranteed. Default: its maximum."""
TOTAL_RESOURCE: Final = _PREFIX + "total-resource"
"""Annotation of the root of a tree, a resource list: the amounts that the tree divides."""
UNSCHEDULABLE_RESOURCE: Final = _PREFIX + "unschedulable-resource"
"""Annotation of the root of a tree, a resource list: the part of it on nodes that take no pods."""
PROFILE: Final = _PREFIX + "profile"
"""Label of the root of a tree: the profile that sizes it."""
RESOURCE_KEYS: Final = _PREFIX + "resource-keys"
"""Annotation of a profile, a list of names: resources that its tree is guaranteed; absent: cpu and memory."""
NAMESPACES: Final = _PREFIX + "namespaces"
"""Annotation of a quota, a list of names: namespaces whose pods use it."""

ADMISSION: Final = _PREFIX + "admission"
"""Annotation of a quota, a resource list: the most that its pods may request at admission. Default: its maximum."""
MAX_STRICT_CHECK: Final = _PREFIX + "max-strict-check-resource-keys"
"""Annotation of a quota, a list of names: resources whose maximum must not be set below the use."""

RUNTIME: Final = _PREFIX + "runtime"
REQUEST: Final = _PREFIX + "request"
CHILD_REQUEST: Final = _PREFIX + "child-request"
GUARANTEED: Final = _PREFIX + "guaranteed"
ALLOCATED: Final = _PREFIX + "allocated"
NON_PREEMPTIBLE_REQUEST: Final = _PREFIX + "non-preemptible-request"
NON_PREEMPTIBLE_USED: Final = _PREFIX + "non-preemptible-used"
"""Annotations of a quota with its status, resource lists. The scheduler writes them."""

ROOT_QUOTA: Final = "koordinator-root-quota"
"""Ancestor of all quotas; it represents the cluster."""
SYSTEM_QUOTA: Final = "koordinator-system-quota"
DEFAULT_QUOTA: Final = "koordinator-default-quota"
"""Quota of pods without another quota. It and `SYSTEM_QUOTA` are not divided: the total excludes their usage."""
