"""The state of one emulated cluster, and what all requests share."""

from dataclasses import dataclass, field
from typing import Any

from pyroclast.emulator.clock import Clock
from pyroclast.emulator.faults import Faults
from pyroclast.emulator.operations.strategies import PLAIN, Strategy
from pyroclast.emulator.statuses import not_found
from pyroclast.emulator.storage.resources import Registry, Resource
from pyroclast.emulator.storage.store import Collection, Record, Store

__all__ = ["Cluster"]

Object = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Cluster:
    """Registry, store and clock, with the rules of each kind."""

    registry: Registry = field(default_factory=Registry)
    store: Store = field(default_factory=Store)
    faults: Faults = field(default_factory=Faults)
    clock: Clock = field(default_factory=Clock)
    strategies: dict[tuple[str, str], Strategy] = field(default_factory=dict)
    """Rules by group and plural; other kinds are `PLAIN`."""
    schemas: dict[tuple[str, str, str], Object] = field(default_factory=dict)
    """OpenAPI schemas of custom resources by group, version and plural."""

    def strategy(self, resource: Resource) -> Strategy:
        """The rules of a resource."""
        return self.strategies.get((resource.group, resource.plural), PLAIN)

    def collection(self, resource: Resource) -> Collection:
        """Return the collection of a resource's objects."""
        return self.store.collection(resource.group, resource.plural)

    def core(self, plural: str) -> Collection:
        """A collection of the core group."""
        return self.store.collection("", plural)

    def record(self, resource: Resource, namespace: str, name: str) -> Record:
        """An object's record.

        Raises:
            ApiError: 404.
        """
        record = self.collection(resource).get(namespace, name)
        if record is None:
            raise not_found(resource.group, resource.plural, name)
        return record
