"""What the kinds share with the rest of Kubernetes: metadata, references, selectors, conditions."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from pyroclast.model.api.rules import Amount, Int64, Rules, Time
from pyroclast.model.wire import base
from pyroclast.model.wire.base import EMPTY, Wire

__all__ = [
    "Amounts",
    "Condition",
    "ConditionStatus",
    "LabelSelector",
    "ObjectMeta",
    "ObjectReference",
    "OwnerReference",
    "SelectorRequirement",
]

Amounts = Mapping[str, Amount]
"""Resource name → amount."""


class OwnerReference(base.OwnerReference, frozen=True, kw_only=True):
    """Object that owns another, which is removed with it."""

    is_atomic: ClassVar[bool] = True
    api_version: str
    """API version of the object."""
    kind: str
    """Kind of the object."""
    name: str
    """Name of the object."""
    uid: str
    """UID of the object."""
    controller: bool = False
    """Whether the object manages the one that refers to it."""
    block_owner_deletion: bool = False
    """Whether deletion of the object in the foreground waits for the one that refers to it."""


class ObjectMeta(base.ObjectMeta, frozen=True, kw_only=True):
    """Identity, labels and owners of an object; what only the API server reads is left out."""

    generate_name: str = ""
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


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
    """Version of the object that is meant."""
    field_path: str = ""
    """Part of the object that is meant; empty for the whole."""


class SelectorRequirement(base.SelectorRequirement, frozen=True, kw_only=True):
    """One term on a label key."""

    key: str
    """Label key the term looks at."""
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: Annotated[tuple[str, ...], Rules(list_type="atomic")] = ()
    """Values for In and NotIn; empty for the other operators."""


class LabelSelector(base.LabelSelector, frozen=True, kw_only=True):
    """Labels to look for: all pairs and all terms must hold."""

    is_atomic: ClassVar[bool] = True
    match_labels: Mapping[str, str] = EMPTY
    """Label keys and the value each must have."""
    match_expressions: Annotated[tuple[SelectorRequirement, ...], Rules(list_type="atomic")] = ()
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
    """One finding."""

    type: Annotated[str, Rules(max_length=316, pattern=_CONDITION_TYPE)]
    """What the condition is about."""
    status: Annotated[str, Rules(enum=ConditionStatus)]
    """True, False or Unknown."""
    last_transition_time: Time
    """When the condition changed last."""
    reason: Annotated[str, Rules(min_length=1, max_length=1024, pattern=_CONDITION_REASON)]
    """Cause in one word."""
    message: Annotated[str, Rules(max_length=32768)]
    """Details for a reader."""
    observed_generation: Annotated[Int64, Rules(minimum=0)] = 0
    """Generation of the object that the condition is about."""
