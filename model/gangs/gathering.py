"""Gathering: how close the pods of a gang must be in the network, from an annotation of Koordinator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from pyroclast.model.annotations import read_json
from pyroclast.model.sealed import SealedDict
from pyroclast.model.texts import quoted

__all__ = ["GATHER_SPEC", "Gathering", "demands_gathering", "read_gathering"]

GATHER_SPEC: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
"""Annotation, JSON: `gatherStrategy`, a list of layers with a strategy each."""
MUST_GATHER: Final = "MustGather"
PREFER_GATHER: Final = "PreferGather"
_MOST_LAYERS: Final = 32
_MOST_MULTIPLE: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Gathering:
    """Layers of the network in which a gang is gathered.

    Each gang prefers the lowest layer that can hold it, so that layers that are only preferred need not be listed.
    """

    musts: tuple[str, ...] = ()
    """Layers in whose domains the gang must be; the lowest one decides."""
    multiples: Mapping[str, int] = field(default_factory=SealedDict)
    """The number of its pods in each domain of a layer is a multiple of this."""


class _Strategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    layer: str
    strategy: str = PREFER_GATHER
    pod_count_multiple: int = 0


class _Spec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    gather_strategy: tuple[_Strategy, ...] = ()


def read_gathering(text: str) -> Gathering:
    """Return the gathering of an annotation. Raise ValueError if the annotation is malformed."""
    spec = read_json(text, _Spec)
    if len(spec.gather_strategy) > _MOST_LAYERS:
        raise ValueError(f"gatherStrategy has more than {_MOST_LAYERS} layers")
    for each in spec.gather_strategy:
        if each.strategy not in (MUST_GATHER, PREFER_GATHER):
            raise ValueError(f"the strategy {quoted(each.strategy)} is neither {MUST_GATHER} nor {PREFER_GATHER}")
        if not 0 <= each.pod_count_multiple <= _MOST_MULTIPLE:  # larger numbers do not fit arrays
            raise ValueError(f"the podCountMultiple is not a whole number from 0 to {_MOST_MULTIPLE}")
    return Gathering(
        musts=tuple(dict.fromkeys(each.layer for each in spec.gather_strategy if each.strategy == MUST_GATHER)),
        multiples=SealedDict(
            {each.layer: each.pod_count_multiple for each in spec.gather_strategy if each.pod_count_multiple > 1}
        ),
    )


def demands_gathering(text: str) -> bool:
    """Return whether an annotation has a layer in which a gang must be gathered; False if it is malformed."""
    try:
        return bool(read_gathering(text).musts)
    except ValueError:
        return False
