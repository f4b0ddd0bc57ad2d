"""Owners: which pods may use a Reservation (R1 to R3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyroclast.model import wire
from pyroclast.model.matching.selectors import Selector, unreadable

__all__ = ["MOST_OWNERS", "OwnerRules", "keys_of_pod", "read_owners"]

_NAME, _CONTROLLER = " name", " controller"
"""Keys beside those of labels, which have no spaces."""

MOST_OWNERS: Final = 100
"""Most entries of one Reservation. Each pending pod is compared with all of them."""


@dataclass(frozen=True, slots=True)
class _Owner:
    object: wire.ObjectReference | None
    controller: wire.ReservationControllerReference | None
    selector: Selector | None

    def matches(self, pod: wire.Pod) -> bool:
        metadata = pod.metadata
        if self.object is not None and not _is_object(self.object, metadata):
            return False
        if self.controller is not None and not _is_controlled(self.controller, metadata):
            return False
        return self.selector is None or self.selector.matches(metadata.labels)

    def keys(self) -> Sequence[tuple[str, str]] | None:
        """Return keys of which all pods that match have one, see `keys_of_pod`; None if none is sure."""
        anchors = None if self.selector is None else self.selector.anchors()
        if anchors is not None:
            return anchors
        if self.object is not None and self.object.name:
            return [(_NAME, self.object.name)]
        if self.controller is not None and self.controller.name:
            return [(_CONTROLLER, self.controller.name)]
        return None


@dataclass(frozen=True, slots=True)
class OwnerRules:
    """Entries of which a pod must match one."""

    entries: tuple[_Owner, ...] = ()
    namespace: str = ""
    """The only namespace of the pods; empty for all. A pod in operating mode offers capacity in its own alone."""

    def match(self, pod: wire.Pod) -> bool:
        """Return whether a pod may use the capacity."""
        if self.namespace not in {"", pod.metadata.namespace}:
            return False
        return any(entry.matches(pod) for entry in self.entries)

    def keys(self) -> frozenset[tuple[str, str]] | None:
        """Return keys of which all pods that match have one, see `keys_of_pod`; None if none is sure."""
        found = [entry.keys() for entry in self.entries]
        return None if None in found else frozenset(key for keys in found for key in keys or ())


def keys_of_pod(pod: wire.Pod) -> Iterator[tuple[str, str]]:
    """Yield what entries of owners can ask for: labels, the name, and the names of controllers."""
    yield from pod.metadata.labels.items()
    yield _NAME, pod.metadata.name
    for owner in pod.metadata.owner_references:
        yield _CONTROLLER, owner.name


def read_owners(owners: Sequence[wire.ReservationOwner], namespace: str = "") -> OwnerRules:
    """Parse owners, which are pods of one namespace if it is given.

    Raises:
        ValueError: A selector cannot be parsed, or there are too many entries. No pod matches then.
    """
    if len(owners) > MOST_OWNERS:
        raise ValueError(f"{len(owners)} owners, at most {MOST_OWNERS} are supported")
    return OwnerRules(tuple(_owner(number, each) for number, each in enumerate(owners)), namespace)


def _owner(number: int, owner: wire.ReservationOwner) -> _Owner:
    selector = owner.label_selector
    if selector is not None:
        for path, fault in unreadable(selector):
            raise ValueError(f"owners[{number}].labelSelector.{path}: {fault}")
    return _Owner(owner.object, owner.controller, None if selector is None else Selector.of(selector))


def _is_object(given: wire.ObjectReference, metadata: wire.ObjectMeta) -> bool:
    """Compare the fields that are set, except kind, resource version and field path."""
    return (
        given.uid in {"", metadata.uid}
        and given.name in {"", metadata.name}
        and given.namespace in {"", metadata.namespace}
        and given.api_version in {"", "v1"}
    )


def _is_controlled(given: wire.ReservationControllerReference, metadata: wire.ObjectMeta) -> bool:
    if given.namespace not in {"", metadata.namespace}:
        return False
    return any(
        given.controller in {None, owner.controller}
        and given.uid in {"", owner.uid}
        and given.name in {"", owner.name}
        and given.kind in {"", owner.kind}
        and given.api_version in {"", owner.api_version}
        for owner in metadata.owner_references
    )
