"""Objects from files: the cluster state of objects as `kubectl get -o yaml` writes them, or as users write them.

Objects are Kubernetes dictionaries with `apiVersion` and `kind`; Lists are unfolded. Missing namespaces and UIDs are
filled in as the API server does. A broken object is reported and ignored. Kinds that do not affect scheduling are
noted and ignored. Measurements of node usage are allowed among the objects (`cache.files.measurements`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from pyroclast.cache.files.measurements import MEASURED, NodeMeasurement, measurements
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.stores.lookups import LOOKUP_KINDS
from pyroclast.kube.api import resources
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.native.reading import template_fault
from pyroclast.model.watched import Unstructured, WatchedKind, is_watched
from pyroclast.model.wire.unstructured import UnstructuredDecoder

__all__ = ["KINDS", "decoded", "decoder_of", "state_from_objects", "unfolded"]

KINDS: Final = (*LOOKUP_KINDS, "PriorityClass", "Queue", "Node", "PodGroup", "Pod")
"""Kinds that the cluster state stores, in the best order to apply them: objects that others refer to come first."""

_RESOURCES: Final = {each.name: each for each in (*resources.ALL, *resources.WHILE_WANTED) if each.name in KINDS}
_ALIASES: Final = {(each.kind, each.group): each.alias for each in _RESOURCES.values() if each.alias}
"""Internal names of kinds whose name another API group uses too, by kind and group."""
_GROUPS: Final = {
    kind: each.group
    for kind, each in _RESOURCES.items()
    if each.group.endswith(("volcano.sh", "koordinator.sh", "scheduling.k8s.io"))
}
"""API groups of kinds whose name other projects use too."""

_DECODERS: Final[Mapping[str, wire.Decoder[Any]]] = {
    **{kind: _RESOURCES[kind].decoder for kind in KINDS},
    MEASURED: wire.Decoder(MEASURED, NodeMeasurement),
}
_ORDER: Final = {kind: position for position, kind in enumerate(_DECODERS)}


def decoder_of(kind: str) -> wire.Decoder[Any]:
    """Return the decoder of a kind that the cluster state stores."""
    return UnstructuredDecoder() if is_watched(kind) else _DECODERS[kind]


def state_from_objects(
    objects: Iterable[Mapping[str, Any]],
    options: StateOptions | None = None,
    *,
    report: Callable[[ObjectError], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> ClusterState:
    """Create the cluster state of objects given as dictionaries.

    Args:
        objects: Kubernetes objects and Lists of them, in any order.
        options: The options of the cluster state.
        report: Receives each broken object and field.
        note: Receives one message for each kind that does not affect scheduling.
    """
    state = ClusterState(options, report)
    found = decoded(objects, report=report, note=note)
    for kind, each in found:
        state.apply(kind, each)
    state.measure(measurements(found, report))
    return state


def decoded(
    objects: Iterable[Mapping[str, Any]],
    *,
    watched: Collection[WatchedKind] = (),
    report: Callable[[ObjectError], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> list[tuple[str, Any]]:
    """Return the structs of dictionaries with their kinds, in the best order to apply them.

    Objects of the kinds in `watched` come as they are, under the names of the declarations.
    """
    found: list[tuple[str, Any]] = []
    foreign: set[str] = set()
    for each in unfolded(objects):
        kind = _kind(each)
        declared = [
            name for name in watched if (name.kind, name.api_version) == (each.get("kind"), each.get("apiVersion"))
        ]
        try:
            found += _of_watched(each, declared)
            if kind is not None:
                found.append((kind, _named(kind, _DECODERS[kind].convert(_filled_in(kind, each)))))
            elif not declared:
                foreign.add(f"{each.get('apiVersion', '')} {each.get('kind', '(no kind)')}")
        except ObjectError as error:
            if report is not None:
                report(error)
    if note is not None:
        for name in sorted(foreign):
            note(f"{name.strip()} does not affect scheduling: ignored")
    if report is not None:
        for fault in _template_faults(found):
            report(fault)
    return sorted(found, key=lambda pair: _ORDER.get(pair[0], -1))


def _of_watched(each: Mapping[str, Any], declared: Iterable[WatchedKind]) -> Iterator[tuple[str, Unstructured]]:
    """Yield an object once for each declaration that selects it, under its name."""
    for kind in declared:
        item = _named(
            kind.kind, UnstructuredDecoder(kind.kind).convert(_identified(each, kind.kind, kind.is_namespaced))
        )
        if kind.selects(item, item.metadata):
            yield kind.name, item


def _template_faults(found: Iterable[tuple[str, Any]]) -> Iterator[ObjectError]:
    """Yield the PodGroups of `scheduling.k8s.io` that admission would refuse, because no Workload made them."""
    by_kind: dict[str, list[Any]] = {"Workload": [], "NativePodGroup": []}
    for kind, each in found:
        if kind in by_kind:
            by_kind[kind].append(each)
    workloads = {each.metadata.key: each for each in by_kind["Workload"]}
    for group in by_kind["NativePodGroup"]:
        reference, namespace = group.spec.reference, group.metadata.namespace
        workload = None if reference is None else workloads.get(f"{namespace}/{reference.workload_name}")
        fault = template_fault(group, workload)
        if fault:
            path = "spec.workloadRef" if group.spec.workload_ref is not None else "spec.podGroupTemplateRef"
            yield ObjectError("PodGroup", group.metadata.key, path, f"{fault}; the group is used as it is")


def _named(kind: str, each: Any) -> Any:
    if not each.metadata.name:
        raise ObjectError(kind, "(without a name)", "metadata.name", "missing; the object is ignored")
    return each


def unfolded(objects: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Replace Lists by their items, at any depth.

    Raises:
        ObjectError: An item of a List is not an object.
    """
    for each in objects:
        kind, items = each.get("kind"), each.get("items")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
            for number, item in enumerate(items):
                if not isinstance(item, Mapping):
                    fault = f"expected an object, got {type(item).__name__}"
                    raise ObjectError(kind, "(in a file)", f"items[{number}]", fault)
            inherited = {"kind": kind.removesuffix("List"), "apiVersion": each.get("apiVersion", "")}
            yield from unfolded({**(inherited if kind != "List" else {}), **item} for item in items)
        else:
            yield each


def _kind(each: Mapping[str, Any]) -> str | None:
    kind = each.get("kind")
    version = each.get("apiVersion", "")
    alias = _ALIASES.get((str(kind), str(version).partition("/")[0]))
    if alias is not None or not isinstance(kind, str) or kind not in _DECODERS:
        return alias
    group = _GROUPS.get(kind)
    if group is not None and version and not str(version).startswith(f"{group}/"):
        return None
    return kind


def _filled_in(kind: str, each: Mapping[str, Any]) -> Mapping[str, Any]:
    is_namespaced = kind in _RESOURCES and _RESOURCES[kind].is_namespaced
    return _identified(each, kind, is_namespaced)


def _identified(each: Mapping[str, Any], kind: str, is_namespaced: bool) -> Mapping[str, Any]:
    """Fill in a missing namespace and a missing UID, as the API server does."""
    metadata = each.get("metadata")
    if not isinstance(metadata, Mapping):
        return each
    filled = dict(metadata)
    if is_namespaced and not filled.get("namespace"):
        filled["namespace"] = "default"
    if not filled.get("uid"):
        name = filled.get("name", "")
        filled["uid"] = f"{filled['namespace']}-{name}" if is_namespaced else f"{kind.lower()}-{name}"
    # Files may be of different times and clusters: equal versions do not mean equal objects.
    filled.pop("resourceVersion", None)
    return {**each, "metadata": filled}
