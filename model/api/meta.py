"""Common parts of all kinds: metadata, references, selectors, conditions."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

import msgspec

from pyroclast.model.api.rules import REQUIRED, FieldRules, Int64, Quantity, Time

__all__ = [
    "EMPTY",
    "Condition",
    "ConditionStatus",
    "LabelSelector",
    "ListMeta",
    "ObjectMeta",
    "ObjectReference",
    "OwnerReference",
    "Quantity",
    "ResourceList",
    "SelectorRequirement",
    "Wire",
]

ResourceList = Mapping[str, Quantity]
"""Resource name → amount."""

EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
"""The one empty mapping that all absent maps share: a pod has a dozen of them."""

_UPPER_PARTS = frozenset({"ip", "ips", "id"})


def _camel(name: str) -> str:
    """Spell a field as the Kubernetes API does: `pod_ip` is `podIP`, `continue_` is `continue`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.upper().replace("S", "s") if part in _UPPER_PARTS else part.title() for part in rest)


class Wire(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename=_camel):
    """Base of all structs: camelCase names, unknown fields ignored, absent fields left out when encoded."""


class ListMeta(Wire, frozen=True, kw_only=True):
    """Metadata of a list."""

    resource_version: str = ""
    continue_: str = ""
    remaining_item_count: int = 0


class OwnerReference(Wire, frozen=True, kw_only=True):
    """Object that owns another, which is removed with it."""

    is_atomic: ClassVar[bool] = True
    api_version: Annotated[str, REQUIRED] = ""
    """API version of the object."""
    kind: Annotated[str, REQUIRED] = ""
    """Kind of the object."""
    name: Annotated[str, REQUIRED] = ""
    """Name of the object."""
    uid: Annotated[str, REQUIRED] = ""
    """UID of the object."""
    controller: bool = False
    """Whether the object manages the one that refers to it."""
    block_owner_deletion: bool = False
    """Whether deletion of the object in the foreground waits for the one that refers to it."""


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """Identity, labels and owners of an object, without the fields that only the API server reads."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for what is cluster-wide."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    def freeze(self) -> None:
        """Make labels and annotations read-only, also where they are in use already; their values stay the same."""
        if type(self.labels) is dict:
            msgspec.structs.force_setattr(self, "labels", MappingProxyType(self.labels))
        if type(self.annotations) is dict:
            msgspec.structs.force_setattr(self, "annotations", MappingProxyType(self.annotations))

    def is_controlled_by(self, other: "ObjectMeta") -> bool:
        """Return whether another object manages this one: that object itself, not a later one of its name."""
        controller = self.controller
        return controller is not None and controller.uid == other.uid


class ObjectReference(Wire, frozen=True, kw_only=True):
    """Reference to an object, or to a part of it."""

    is_atomic: ClassVar[bool] = True
    api_version: str = ""
    """API version of the object."""
    kind: str = ""
    """Kind of the object."""
    namespace: str = ""
    """Namespace of the object."""
    name: str = ""
    """Name of the object."""
    uid: str = ""
    """UID of the object."""
    resource_version: str = ""
    """Resource version of the object."""
    field_path: str = ""
    """Part of the object; empty for the whole object."""


class SelectorRequirement(Wire, frozen=True, kw_only=True):
    """One term on a label key."""

    key: Annotated[str, REQUIRED] = ""
    """Label key of the term."""
    operator: Annotated[str, REQUIRED] = ""
    """In, NotIn, Exists or DoesNotExist."""
    values: Annotated[tuple[str, ...], FieldRules(list_type="atomic")] = ()
    """Values for In and NotIn; empty for the other operators."""


class LabelSelector(Wire, frozen=True, kw_only=True):
    """Label selector: all pairs and all terms must match."""

    is_atomic: ClassVar[bool] = True
    match_labels: Mapping[str, str] = EMPTY
    """Label keys and the value each must have."""
    match_expressions: Annotated[tuple[SelectorRequirement, ...], FieldRules(list_type="atomic")] = ()
    """Terms on label keys."""


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


_CONDITION_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
_CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)


class Condition(Wire, frozen=True, kw_only=True):
    """One condition."""

    type: Annotated[str, REQUIRED, FieldRules(max_length=316, pattern=_CONDITION_TYPE)] = ""
    """Type of the condition."""
    status: Annotated[str, REQUIRED, FieldRules(enum=ConditionStatus)] = ""
    """True, False or Unknown."""
    last_transition_time: Annotated[Time, REQUIRED] = ""
    """Time of the last change of the condition."""
    reason: Annotated[str, REQUIRED, FieldRules(min_length=1, max_length=1024, pattern=_CONDITION_REASON)] = (
        msgspec.field(default_factory=str)
    )
    """Cause in one word."""
    message: Annotated[str, REQUIRED, FieldRules(max_length=32768)] = msgspec.field(default_factory=str)
    """Human-readable details."""
    observed_generation: Annotated[Int64, FieldRules(minimum=0)] = 0
    """Generation of the object for which the condition was set."""
