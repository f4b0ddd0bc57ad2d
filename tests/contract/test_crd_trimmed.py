"""What the scheduler decodes on its hot path (`model.wire.groups`) is a part of the full structs (`model.api`)."""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from pyroclast.model import wire
from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.devices import Device
from pyroclast.model.api.nodeinfo import Numatopology
from pyroclast.model.api.scheduling import PodGroup, Queue
from pyroclast.model.api.shard import NodeShard
from pyroclast.model.api.topology import HyperNode
from pyroclast.model.sealed import SealedDict
from pyroclast.model.wire.base import Wire

PAIRS: tuple[tuple[type[Wire], type[KubernetesObject]], ...] = (
    (wire.PodGroup, PodGroup),
    (wire.Queue, Queue),
    (wire.HyperNode, HyperNode),
    (wire.NodeShard, NodeShard),
    (wire.Numatopology, Numatopology),
    (wire.KoordinatorDevice, Device),
)

WIDER = {"Numatopology.spec.resReserved{}": {"string"}}
"""Where the scheduler reads more than the schema allows: amounts as numbers too. Path → what the schema allows."""

PAST_THE_FULL = {"PodGroup.status.conditions[].observedGeneration", "HyperNode.status.conditions[].transitionID"}
"""Fields that one kind's conditions have and the other's have not: the scheduler reads both by one struct."""

Field = tuple[str, frozenset[str], Any]
"""Path, JSON types, and default."""


def fields_of(struct: type[Wire], path: str) -> Iterator[Field]:
    """List the fields of a struct and of the structs inside it; metadata, which is Kubernetes' own, is left out."""
    hints = get_type_hints(struct, include_extras=False)
    for field in msgspec.structs.fields(struct):
        if field.name != "metadata":
            default = field.default_factory if field.default is msgspec.NODEFAULT else field.default
            yield from fields_of_type(hints[field.name], f"{path}.{field.encode_name}", default)


def fields_of_type(hint: Any, path: str, default: Any) -> Iterator[Field]:
    """List what stands at a path and below it."""
    parts = [part for part in alternatives(hint) if part is not NoneType]
    (first, *_) = parts
    if isinstance(first, type) and issubclass(first, Wire):
        yield path, frozenset({"object"}), "a struct" if isinstance(default, Wire) else default
        yield from fields_of(first, path)
    elif get_origin(first) is tuple:
        yield path, frozenset({"array"}), default
        yield from fields_of_type(get_args(first)[0], f"{path}[]", None)
    elif get_origin(first) is Mapping:
        yield (
            path,
            frozenset({"object"}),
            {} if default in (dict, SealedDict) or isinstance(default, Mapping) else default,
        )
        yield from fields_of_type(get_args(first)[1], f"{path}{{}}", None)
    else:
        names = {str: "string", int: "integer", float: "number", bool: "boolean"}
        yield path, frozenset(names[part] for part in parts), default


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type itself."""
    if get_origin(hint) is Annotated:
        return alternatives(get_args(hint)[0])
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


@pytest.mark.parametrize(("trimmed", "full"), PAIRS)
def test_trimmed_fields_are_fields(trimmed: type[Wire], full: type[KubernetesObject]) -> None:
    """Each field that the scheduler reads stands in the full struct, with the same type."""
    kind = full.definition.kind
    known = {path: types for path, types, _ in fields_of(full, kind)}
    read = {path: types for path, types, _ in fields_of(trimmed, kind) if path not in PAST_THE_FULL}

    assert {path: WIDER.get(path, types) for path, types in read.items()} == {path: known.get(path) for path in read}


@pytest.mark.parametrize(("trimmed", "full"), PAIRS)
def test_trimmed_fields_have_the_same_defaults(trimmed: type[Wire], full: type[KubernetesObject]) -> None:
    """An absent field means the same to both; what the full struct requires cannot be absent."""
    kind = full.definition.kind
    known = {path: default for path, _, default in fields_of(full, kind) if default is not msgspec.NODEFAULT}
    read = {path: default for path, _, default in fields_of(trimmed, kind)}

    assert {path: read[path] for path in read.keys() & known.keys()} == {
        path: known[path] for path in read.keys() & known.keys()
    }
