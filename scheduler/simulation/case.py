"""Cases: one line of a batch, with a cluster and a configuration.

A case is a JSON object: `id`, `config` (a mapping, or the text of a configuration file), `objects` (lists of Kubernetes
objects by kind, or one list of objects with kinds), `hyperNodes`, `shard`, `ignoredProvisioners`, `rounds`,
`recreateEvicted`, `seed`, `now`, `schedulerNames`, `explain`, `explainNodes`. Fields about expected results are
ignored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.cache.files.measurements import MEASURED
from pyroclast.cache.files.objects import KINDS, unfolded
from pyroclast.cache.options import StateOptions
from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.framework.session.shadows.tracing import MOST_NODES
from pyroclast.model.api.names import DEFAULT_SCHEDULER
from pyroclast.model.wire import unix_seconds
from pyroclast.scheduler.monitoring.examinations import DEFAULT_NODES, Explain
from pyroclast.scheduler.simulation.fields import CaseError, items_of, object_of, objects_of, whole_of
from pyroclast.scheduler.simulation.hyper_nodes import hyper_nodes

__all__ = ["Case", "moment_after", "moment_of_dump", "read_case", "read_moment"]

YEAR_SECONDS: Final = 365 * 24 * 3600
WITHOUT_TIMES: Final = unix_seconds("2027-01-01T00:00:00Z")
"""The time of a case whose objects have no creation timestamps."""
LAST_MOMENT: Final = unix_seconds("9998-01-01T00:00:00Z")
"""Upper limit; later cycles might exceed the calendar."""
SHARD_MODES: Final = ("none", "hard", "soft")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cluster with the settings of its simulation."""

    id: Any
    config: str | Mapping[str, Any] | None
    """Text or content of a configuration file; None for that of the batch."""
    objects: tuple[Mapping[str, Any], ...]
    """Kubernetes objects with their kinds."""
    state: StateOptions
    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    """The profiles of these names decide."""
    rounds: int = 1
    """Number of cycles, at least 1."""
    recreate_evicted: bool = False
    """Whether an evicted pod is created again, pending, with its old name."""
    seed: int = 0
    now: float = WITHOUT_TIMES
    """The time of the first cycle, in seconds since 1970."""
    explain: Explain | None = None
    """Pods to explain; None for none."""
    warnings: tuple[str, ...] = ()


def read_case(raw: Any, *, seed: int = 0) -> Case:
    """Parse a case.

    Args:
        raw: The decoded line.
        seed: Seed of a case without one.

    Raises:
        CaseError: A field has an unexpected value.
    """
    if not isinstance(raw, Mapping):
        raise CaseError(f"the case: expected a JSON object, got {type(raw).__name__}")
    warnings: list[str] = []
    objects = [*_objects(raw.get("objects"), warnings), *hyper_nodes(raw.get("hyperNodes"))]
    shard = _mapping(raw, "shard")
    if shard:
        objects.append(_node_shard(shard))
    scheduler_names = _scheduler_names(raw.get("schedulerNames"))
    return Case(
        id=raw.get("id"),
        config=_config(raw.get("config")),
        objects=tuple(objects),
        scheduler_names=scheduler_names or (DEFAULT_SCHEDULER,),
        state=StateOptions(
            scheduler_names=frozenset(scheduler_names),
            ignore_scheduler_name=not scheduler_names,
            shard_mode=_shard_mode(shard),
            shard_name=str(shard.get("name", "")) or "volcano",
            ignored_provisioners=frozenset(map(str, items_of(raw.get("ignoredProvisioners"), "ignoredProvisioners"))),
        ),
        rounds=_rounds(raw.get("rounds")),
        recreate_evicted=_flag(raw, "recreateEvicted"),
        seed=_whole(raw, "seed", seed),
        explain=_explain(raw.get("explain"), _whole(raw, "explainNodes", DEFAULT_NODES)),
        now=read_moment(raw["now"]) if raw.get("now") is not None else moment_after(objects),
        warnings=tuple(warnings),
    )


def read_moment(value: Any) -> float:
    """Parse a time: RFC 3339, or seconds since 1970.

    Raises:
        CaseError: It has another format, or is not between the years 1970 and 9998.
    """
    moment = _moment(value)
    if not 0 <= moment < LAST_MOMENT:
        raise CaseError(f"now: got {value!r}, expected a time from the year 1970 to the year 9997")
    return moment


def _moment(value: Any) -> float:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        return float(value) if _is_number(value) else unix_seconds(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise CaseError(f"now: {value!r} is no time: {error}") from None


def moment_of_dump(objects: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the time of the newest dump among objects; None if there is no dump.

    Raises:
        CaseError: A time has another format.
    """
    return max((read_moment(each["now"]) for each in objects if each.get("now") is not None), default=None)


def moment_after(objects: Sequence[Mapping[str, Any]]) -> float:
    """Return the time of a dump, or else a year after the newest object was created.

    Raises:
        CaseError: That time exceeds the calendar.
    """
    dumped = moment_of_dump(objects)
    if dumped is not None:
        return dumped
    newest = max(unfolded(objects), key=_created, default=None)
    created = 0.0 if newest is None else _created(newest)
    if newest is None or created <= 0:
        return WITHOUT_TIMES
    if created + YEAR_SECONDS >= LAST_MOMENT:
        metadata = newest["metadata"]
        raise CaseError(
            f"{newest.get('kind')} {metadata.get('name')}: metadata.creationTimestamp: got "
            f"{metadata['creationTimestamp']!r}, expected a time before the year 9997, or now beside it"
        )
    return created + YEAR_SECONDS


def _created(each: Mapping[str, Any]) -> float:
    metadata = each.get("metadata")
    text = metadata.get("creationTimestamp") if isinstance(metadata, Mapping) else None
    try:
        return unix_seconds(text) if isinstance(text, str) else 0.0
    except ValueError:
        return 0.0  # the reader of the object reports the fault


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.replace(".", "", 1).isdecimal()


def _plural(kind: str) -> str:
    lower = kind.lower()
    if lower.endswith("s"):
        return f"{lower}es"
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"


_KINDS: Final = {_plural(kind): kind for kind in (*KINDS, MEASURED)}
"""Kinds by the lower-case name of their lists."""


def _objects(value: Any, warnings: list[str]) -> Iterator[Mapping[str, Any]]:
    """Iterate over the objects of a case, each with its kind."""
    if isinstance(value, Mapping) and "kind" not in value:
        for name, items in value.items():
            kind = _KINDS.get(name.lower())
            if kind is None:
                warnings.append(f"objects.{name}: not a kind that scheduling uses{did_you_mean(name, _KINDS)}")
                continue
            for each in objects_of(items, f"objects.{name}"):
                yield {"kind": kind, **each}
    elif value is not None:
        yield from objects_of([value] if isinstance(value, Mapping) else value, "objects")


def _config(value: Any) -> str | Mapping[str, Any] | None:
    if value is None or isinstance(value, str | Mapping):
        return value
    raise CaseError(f"config: expected a mapping or a text, got {type(value).__name__}")


def _mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return {} if value is None else object_of(value, key)


def _flag(raw: Mapping[str, Any], key: str) -> bool:
    value = raw.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise CaseError(f"{key}: expected true or false, got {value!r}")


def _whole(raw: Mapping[str, Any], key: str, default: int) -> int:
    value = raw.get(key)
    return default if value is None else whole_of(value, key)


def _scheduler_names(value: Any) -> tuple[str, ...]:
    names = items_of(value, "schedulerNames")
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise CaseError(f"schedulerNames[{index}]: expected a name, got {name!r}")
    return tuple(names)


def _explain(value: Any, node_limit: int) -> Explain | None:
    names = items_of(value, "explain")
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise CaseError(f"explain[{index}]: expected namespace/name, got {name!r}")
    if not 1 <= node_limit <= MOST_NODES:
        raise CaseError(f"explainNodes: expected 1 to {MOST_NODES}, got {node_limit}")
    return Explain(names=frozenset(names), node_limit=node_limit) if names else None


def _rounds(value: Any) -> int:
    rounds = _whole({"rounds": value}, "rounds", 1)
    if rounds < 1:
        raise CaseError(f"rounds: expected at least 1, got {rounds}")
    return rounds


def _shard_mode(shard: Mapping[str, Any]) -> str:
    mode = shard.get("mode") or "none"
    if mode not in SHARD_MODES:
        raise CaseError(f"shard.mode: expected one of {', '.join(SHARD_MODES)}, got {mode!r}")
    return str(mode)


def _node_shard(shard: Mapping[str, Any]) -> Mapping[str, Any]:
    nodes = [str(name) for name in items_of(shard.get("nodes"), "shard.nodes")]
    return {
        "kind": "NodeShard",
        "metadata": {"name": shard.get("name") or "volcano"},
        "spec": {"nodesDesired": nodes},
        "status": {"nodesInUse": nodes},
    }
