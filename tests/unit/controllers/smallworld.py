"""A server of dictionaries and an operator on it; stores lag and the process is killed as a test's chance has it."""

import asyncio
import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pyroclast.controllers.runtime.expectations import Expectations
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.controllers.runtime.writer import Made
from pyroclast.kube.api.errors import ApiConflictError, ApiError
from pyroclast.kube.api.resources import Resource
from pyroclast.model.wire.times import time_text

START = 1_767_225_600.0
Json = dict[str, Any]
At = tuple[str, str]
"""Namespace and name."""


class KilledError(BaseException):
    """The process ended here."""


@dataclass
class StoppedClock:
    """Time that the test moves."""

    now: float = START

    def monotonic(self) -> float:
        """Tell it."""
        return self.now

    def wall(self) -> float:
        """Tell it."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move it."""
        self.now += seconds


@dataclass
class Kind:
    """What the server has of a kind."""

    resource: Resource[Any]
    objects: dict[At, Json] = field(default_factory=dict)
    unseen: list[At] = field(default_factory=list)
    """What changed since the stores were last brought up to date."""


@dataclass
class SmallWorld:
    """The server."""

    resources: tuple[Resource[Any], ...]
    chance: random.Random
    clock: StoppedClock = field(default_factory=StoppedClock)
    revision: int = 0
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Reasons and messages of events."""
    made: list[str] = field(default_factory=list)
    """Names of all objects ever created by the process."""

    def __post_init__(self) -> None:
        """Begin empty."""
        self.kinds = {resource.plural: Kind(resource) for resource in self.resources}

    def put(self, plural: str, item: Json) -> Json:
        """Write an object as it is given."""
        self.revision += 1
        metadata = item["metadata"]
        metadata.setdefault("uid", f"u{self.revision}")
        metadata.setdefault("creationTimestamp", time_text(self.clock.now))
        metadata["resourceVersion"] = str(self.revision)
        at = (metadata.get("namespace", ""), metadata["name"])
        self.kinds[plural].objects[at] = item
        self.kinds[plural].unseen.append(at)
        return copy.deepcopy(item)

    def remove(self, plural: str, at: At) -> None:
        """Remove an object."""
        self.revision += 1
        del self.kinds[plural].objects[at]
        self.kinds[plural].unseen.append(at)

    def status(self, plural: str, at: At, status: Json) -> None:
        """Replace a status."""
        self.put(plural, {**copy.deepcopy(self.kinds[plural].objects[at]), "status": status})

    def life(self) -> "Life":
        """Begin a new process, whose stores know everything."""
        return Life(self)


class Life:
    """One process's operator."""

    def __init__(self, world: SmallWorld) -> None:
        self.world, self.clock, self.writer = world, world.clock, self
        self.stores: dict[str, Store[Any]] = {}
        self.shown: dict[str, dict[At, Any]] = {}
        self.versions: dict[str, int] = {}

    # --- what reconcilers ask of an operator -------------------------------------------------------------------------

    def store(self, resource: Resource[Any], indexes: Mapping[str, Any] | None = None) -> Store[Any]:
        """Return the store of a kind, filled."""
        plural = resource.plural
        if plural not in self.stores:
            self.stores[plural] = Store(plural=plural, version=lambda: str(self.versions[plural]))
            self.shown[plural] = {}
            self.world.kinds[plural].unseen = list(self.world.kinds[plural].objects)
            self.deliver(plural)
        for name, function in (indexes or {}).items():
            self.stores[plural].add_index(name, function)
        return self.stores[plural]

    def expectations(self) -> Expectations:
        """Return a record of own writes."""
        return Expectations(clock=self.clock)

    def reconciler(self, *_: Any, **__: Any) -> None:
        """Know of a reconciler: the test calls it."""

    def record(self, _: Any, __: Any, ___: str, reason: str, message: str) -> None:
        """Note an event."""
        self.world.notes.append((reason, message))

    # --- the writer --------------------------------------------------------------------------------------------------

    async def create(self, resource: Resource[Any], body: Mapping[str, Any]) -> Made:
        """Create an object, or return the one of its name."""
        objects = self.world.kinds[resource.plural].objects
        at = (body["metadata"].get("namespace", ""), body["metadata"]["name"])
        if at in objects:
            return Made(object=copy.deepcopy(objects[at]), is_new=False)

        def make() -> Made:
            self.world.made.append(at[1])
            return Made(object=self.world.put(resource.plural, copy.deepcopy(dict(body))), is_new=True)

        made: Made = self._write(make)
        return made

    async def merge(
        self,
        resource: Resource[Any],
        metadata: Any,
        change: Mapping[str, Any],
        *,
        subresource: str = "",
        is_of_version: bool = False,
    ) -> Json:
        """Merge a change, of the status alone if asked so."""
        at = (metadata.namespace, metadata.name)
        found = self.world.kinds[resource.plural].objects.get(at)
        if found is None or found["metadata"]["uid"] != metadata.uid:
            raise ApiError(404, "NotFound", "not found")
        if is_of_version and found["metadata"]["resourceVersion"] != metadata.resource_version:
            raise ApiConflictError(409, "Conflict", "modified")
        assert subresource == "status"
        answer: Json = self._write(
            lambda: self.world.put(
                resource.plural, {**copy.deepcopy(found), "status": _merged(found.get("status", {}), change["status"])}
            )
        )
        return answer

    async def delete(self, resource: Resource[Any], metadata: Any) -> bool:
        """Delete an object."""
        at = (metadata.namespace, metadata.name)
        found = self.world.kinds[resource.plural].objects.get(at)
        if found is None or found["metadata"]["uid"] != metadata.uid:
            return False
        self._write(lambda: self.world.remove(resource.plural, at))
        return True

    def _write(self, apply: Callable[[], Any]) -> Any:
        """Write, unless the process is killed: before the server took the write, or right after."""
        if self.world.chance.randrange(8) == 0:
            if self.world.chance.randrange(2) == 0:
                apply()
            raise KilledError
        return apply()

    # --- stores ------------------------------------------------------------------------------------------------------

    def deliver(self, plural: str) -> None:
        """Bring a store up to date."""
        kind, store, shown = self.world.kinds[plural], self.stores[plural], self.shown[plural]
        for at in kind.unseen:
            old, item = shown.pop(at, None), kind.objects.get(at)
            new = msgspec.convert(item, kind.resource.struct) if item is not None else None
            is_same = old is not None and new is not None and old.metadata.uid == new.metadata.uid
            if old is not None and new is not None and is_same:
                store.updated(old, new)
            elif old is not None:
                store.deleted(old)
            if new is not None:
                shown[at] = new
                if not is_same:
                    store.added(new)
        kind.unseen = []
        self.versions[plural] = self.world.revision

    def deliver_some(self) -> None:
        """Bring stores up to date, as chance has it."""
        for plural in self.stores:
            if self.world.chance.randrange(3):
                self.deliver(plural)


def rest(world: SmallWorld, build: Callable[[Any], Any], key: Key) -> None:
    """Reconcile until nothing is written any more, as often as the process is killed."""
    asyncio.run(_rest(world, build, key))


async def _rest(world: SmallWorld, build: Callable[[Any], Any], key: Key) -> None:
    life = world.life()
    reconciler = build(life)
    for _ in range(300):
        before = world.revision
        is_behind = any(kind.unseen for kind in world.kinds.values())
        life.deliver_some()
        try:
            requeue_after = await reconciler.reconcile(key)
        except KilledError:
            life = world.life()
            reconciler = build(life)
            continue
        except ApiConflictError:
            continue
        if world.revision == before and not is_behind and (requeue_after is None or requeue_after > 1):
            return
    raise AssertionError("it never comes to rest")


def _merged(old: Any, change: Any) -> Any:
    """Apply a merge patch."""
    if not isinstance(change, Mapping):
        return copy.deepcopy(list(change) if isinstance(change, tuple) else change)
    result = dict(old) if isinstance(old, Mapping) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result
