"""What every object on the wire shares: naming, metadata, selectors, conditions.

Structs are trimmed: fields that the scheduler never reads are dropped while decoding, so a struct must not be PUT
back; write PATCHes and subresources. They are frozen and outside the garbage collector's care (`gc=False`), which is
sound because nothing on the wire refers back to its holder.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

__all__ = [
    "EMPTY",
    "Condition",
    "LabelSelector",
    "ListMeta",
    "ObjectMeta",
    "OwnerReference",
    "Quantity",
    "ResourceList",
    "SelectorRequirement",
    "Wire",
]

Quantity = str | int | float
"""An amount as JSON has it; `model.quantity` reads it."""

ResourceList = Mapping[str, Quantity]
"""Resource name → amount."""

EMPTY: Mapping[str, str] = MappingProxyType({})
"""The one empty mapping that all absent maps share: a pod has a dozen of them."""

_UPPER_PARTS = frozenset({"ip", "ips", "id"})


def _camel(name: str) -> str:
    """Spell a field as the Kubernetes API does: `pod_ip` is `podIP`, `continue_` is `continue`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.upper().replace("S", "s") if part in _UPPER_PARTS else part.title() for part in rest)


class Wire(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename=_camel):
    """Base of all wire structs: camelCase names, unknown fields ignored, absent fields left out when encoded."""


class ListMeta(Wire, frozen=True, kw_only=True):
    """Metadata of a list."""

    resource_version: str = ""
    continue_: str = ""
    remaining_item_count: int = 0


class OwnerReference(Wire, frozen=True, kw_only=True):
    """Who made an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """Identity and labels of an object."""

    name: str = ""
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
        """Make labels and annotations read-only, also for whoever has them already; their values stay the same."""
        if type(self.labels) is dict:
            msgspec.structs.force_setattr(self, "labels", MappingProxyType(self.labels))
        if type(self.annotations) is dict:
            msgspec.structs.force_setattr(self, "annotations", MappingProxyType(self.annotations))

    def is_controlled_by(self, other: "ObjectMeta") -> bool:
        """Tell whether another object manages this one: itself, not one of its name."""
        controller = self.controller
        return controller is not None and controller.uid == other.uid


class SelectorRequirement(Wire, frozen=True, kw_only=True):
    """One expression of a label selector or of a node selector term."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True, kw_only=True):
    """Labels to match: all pairs and all expressions; an empty selector matches everything."""

    match_labels: Mapping[str, str] = EMPTY
    match_expressions: tuple[SelectorRequirement, ...] = ()


class Condition(Wire, frozen=True, kw_only=True):
    """One condition of a status; `transition_id` is written on pod groups only.

    The probe time is left out on purpose: servers send it as null, which costs the slow way of decoding.
    """

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    transition_id: str = ""
    observed_generation: int = 0
