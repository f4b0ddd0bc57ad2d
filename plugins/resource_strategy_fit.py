"""Resource strategy fit: pack or spread by resource, reserve scarce nodes, and CPU and memory for idle devices.

Points: node order, predicate.  Arguments: `FitArgs`.  Formulas and examples: docs/plugins/resource-strategy-fit.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.annotations import read_json
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray, ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.resources import CPU, MEMORY, MILLI
from pyroclast.model.tasks import SCORING_TYPE, SCORING_WEIGHTS, Task

__all__ = ["FitArgs", "FitResource", "Proportional", "ResourceStrategyFit", "Sra", "fit_after", "lookup"]

MAX_SCORE: Final = 100
LEAST: Final = "LeastAllocated"
MOST: Final = "MostAllocated"
GIGA: Final = 10**9

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResource:
    """Strategy and weight of one resource."""

    type: str = LEAST
    """`MostAllocated` packs nodes; other values spread."""
    weight: int = 1
    """Weight; below 1 it is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sra:
    """Scarce resources, whose nodes are reserved for tasks that request them."""

    enable: bool = False
    resources: tuple[str, ...] = ()
    weight: int = 0
    """Weight of this part's score; 0 disables it."""
    resource_weight: Mapping[str, int] = field(default_factory=dict)
    """Weight by name; the default is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Amounts that stay free for each idle unit of a device; a negative rate means 1."""

    cpu: Fraction = Fraction(1)
    """Number of cores."""
    memory: Fraction = Fraction(1)
    """Units of 10⁹ bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportional:
    """Devices for which CPU and memory stay free."""

    enable: bool = False
    resources: tuple[str, ...] = ()
    resource_proportion: Mapping[str, Fraction] = field(default_factory=dict)
    """Rates by `<name>.cpu` and `<name>.memory`."""

    def reserve(self, name: str) -> Reserve:
        """Return the amounts that stay free for each idle unit of a device."""
        rates = self.resource_proportion
        return Reserve(cpu=rates.get(f"{name}.cpu", Fraction(1)), memory=rates.get(f"{name}.memory", Fraction(1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FitArgs:
    """Arguments of resource-strategy-fit, spelled as in the configuration file."""

    weight: int = argument("resourceStrategyFitWeight", 10, least=0)
    """Weight of the fit's score; 0 disables it."""
    resources: Mapping[str, FitResource] = argument("resources", {}, refuse=True)
    """Resources that count, by name or by prefix (`nvidia.com/*`); by default CPU and memory, spread."""
    sra: Sra | None = argument("sra", None, refuse=True)
    """Scarce resources."""
    proportional: Proportional | None = argument("proportional", None, refuse=True)
    """Devices for which CPU and memory stay free."""

    def doubts(self) -> Iterator[str]:
        """Yield warnings about values that are replaced or have no effect."""
        for name, each in self.resources.items():
            if "*" in name and not is_prefix(name):
                yield f"resources.{name}: matches nothing; expected a name, or a prefix such as nvidia.com/*"
            if each.type not in {LEAST, MOST}:
                yield f"resources.{name}.type: got {each.type!r}, expected {LEAST} or {MOST}; {LEAST} is used"
            if each.weight <= 0:
                yield f"resources.{name}.weight: got {each.weight}, expected at least 1; 1 is used"
        if self.sra is not None:
            yield from self._doubts_of_weights(self.sra)
        if self.proportional is not None:
            known = {f"{name}.{of}" for name in self.proportional.resources for of in (CPU, MEMORY)}
            for key, rate in self.proportional.resource_proportion.items():
                at = f"proportional.resourceProportion.{key}"
                if key not in known:
                    yield f"{at}: has no effect; expected .cpu or .memory of a listed name"
                elif rate < 0:
                    yield f"{at}: got {float(rate):g}, expected at least 0; 1 is used"

    def _doubts_of_weights(self, sra: Sra) -> Iterator[str]:
        if sra.enable and sra.weight <= 0:
            yield f"sra.weight: got {sra.weight}, so sra has no effect; expected at least 1"
        for name, weight in sra.resource_weight.items():
            if name not in sra.resources:
                yield f"sra.resourceWeight.{name}: has no effect, sra.resources does not list it"
            elif weight < 0:
                yield f"sra.resourceWeight.{name}: got {weight}, expected at least 0; 1 is used"

    def counted(self) -> Mapping[str, FitResource]:
        """Return the resources that count, by name or prefix."""
        return self.resources or {CPU: FitResource(), MEMORY: FitResource()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Rows of the resource space that count for one template; k rows."""

    rows: IntArray
    request: IntArray
    """Base units, shape (k,)."""
    weights: tuple[int, ...]
    fills: tuple[bool, ...]
    """Whether packing is preferred, by row."""
    total: int
    """Sum of weights, including those of unknown strategies."""
    counted: tuple[tuple[int, int, int, bool], ...]
    """The same by row: row, request, weight, whether packing is preferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceStrategyFit(Plugin):
    """Pack, spread, and reserve scarce resources."""

    name = "resource-strategy-fit"
    watches_clock = False
    args: FitArgs = FitArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        if self.args.weight > 0:
            self._register_fit(session)
        sra = self.args.sra
        if sra is not None and sra.enable and sra.weight > 0 and sra.resources:
            self._register_scarce(session, sra)
        kept = self.args.proportional
        if kept is not None and kept.enable and kept.resources:
            self._register_proportional(session, kept)

    def _register_fit(self, session: Session) -> None:
        counted, known = self.args.counted(), dict[int, Fit]()

        def score(task: Task, columns: NodeColumns) -> FloatArray | None:
            fit = known.get(task.template.number)
            if fit is None:
                fit = known[task.template.number] = fit_of(session, task, counted)
            if not fit.rows.size or fit.total <= 0:
                return None
            if len(columns) == 1:
                used, offered = columns.used[:, 0].tolist(), columns.allocatable[:, 0].tolist()
                return np.array([self.args.weight * fit_of_one(fit, used, offered)])
            return self.args.weight * fit_after(fit, columns.used[fit.rows], columns.allocatable[fit.rows])

        session.extensions.register(
            contract.NODE_ORDER, self.name, score, locality=Locality.AMOUNTS, weight=self.args.weight
        )

    def _register_scarce(self, session: Session, sra: Sra) -> None:
        weights = {name: _or_one(sra.resource_weight.get(name, 1)) for name in sra.resources}
        rows = session.resources.rows
        scarce = {rows[name]: weight for name, weight in weights.items() if name in rows}
        total = sum(weights.values())

        asked_by: dict[int, list[int]] = {}

        def score(task: Task, columns: NodeColumns) -> FloatArray | None:
            if not total:
                return None
            asked = asked_by.get(task.template.number)
            if asked is None:
                request = session.nodes.needs(task.template).amounts
                asked = asked_by[task.template.number] = [row for row, amount in enumerate(request) if amount > 0]
            if len(columns) == 1:
                offered = columns.allocatable[:, 0].tolist()
                lacks_some = any(offered[row] <= 0 for row in asked)
                there = sum(weight for row, weight in scarce.items() if offered[row] > 0)
                return np.array([0.0 if lacks_some else (1 - there / total) * MAX_SCORE * sra.weight])
            present = np.zeros(len(columns))
            for row, weight in scarce.items():
                present += np.where(columns.allocatable[row] > 0, weight, 0)
            lacks = (columns.allocatable[asked] <= 0).any(axis=0)
            return np.where(lacks, 0.0, (1 - present / total) * MAX_SCORE * sra.weight)

        session.extensions.register(
            contract.NODE_ORDER, self.name, score, locality=Locality.AMOUNTS, weight=sra.weight, part="scarce"
        )

    def _register_proportional(self, session: Session, kept: Proportional) -> None:
        devices = [
            _Kept.of(session, at, name, kept.reserve(name))
            for at, name in enumerate(kept.resources, 1)
            if name in session.resources.rows
        ]

        def asks_for_one(task: Task) -> bool:
            return any(task.template.request.get(name, 0) > 0 for name in kept.resources)

        def verdicts(task: Task, columns: NodeColumns) -> ReasonArray | None:
            if asks_for_one(task):
                return None
            needs = session.nodes.needs(task.template)
            if len(columns) == 1:
                used, offered = columns.used[:, 0].tolist(), columns.allocatable[:, 0].tolist()
                return np.array([verdict_of_one(devices, needs.amounts, used, offered)], dtype=np.uint8)
            found = np.zeros(len(columns), dtype=np.uint8)
            idle = columns.idle
            for device in devices:
                found[device.lacks_room(idle, needs.request) & (columns.allocatable[device.row] > 0) & (found == 0)] = (
                    device.verdict
                )
            return found

        reasons = [Reason(f"proportional of resource {name} check failed", resolvable=False) for name in kept.resources]
        session.extensions.register(contract.PREDICATE, self.name, verdicts, locality=Locality.AMOUNTS, reasons=reasons)
        named_by = [(device, _names_without_any(session, device)) for device in devices]

        def verdicts_of_none(task: Task, columns: NodeColumns) -> ReasonArray | None:
            """Refuse nodes that name a device but have none of it, if the task does not fit. Nothing is reserved."""
            if asks_for_one(task):
                return None
            found = np.zeros(len(columns), dtype=np.uint8)
            idle, request = columns.idle, session.nodes.needs(task.template).request
            for device, named in named_by:
                found[device.lacks_room(idle, request) & named[columns.index] & (found == 0)] = device.verdict
            return found

        if any(named.any() for _, named in named_by):
            session.extensions.register(
                contract.PREDICATE,
                self.name,
                verdicts_of_none,
                locality=Locality.NODE,
                reasons=reasons,
                part="none left",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """Amounts that stay free for one device."""

    verdict: int
    row: int
    """Row of the device."""
    beside: tuple[tuple[int, int, int], ...]
    """Row, and its base units for each idle base unit of the device, as a fraction."""

    @staticmethod
    def of(session: Session, verdict: int, name: str, reserve: Reserve) -> "_Kept":
        """Convert rates to base units."""
        rows, row = session.resources.rows, session.resources.rows[name]
        rates = [rate / session.resources.scales[row] for rate in _rates(reserve)]
        beside = tuple(
            (rows[kept], rate.numerator, rate.denominator) for kept, rate in zip((CPU, MEMORY), rates, strict=True)
        )
        return _Kept(verdict=verdict, row=row, beside=beside)

    def lacks_room(self, idle: IntArray, request: IntArray) -> BoolArray:
        """Return the nodes with too little left, shape (n,)."""
        short = np.zeros(idle.shape[1], dtype=np.bool_)
        for row, numerator, denominator in self.beside:
            short |= idle[row] - request[row] < -(-idle[self.row] * numerator // denominator)
        return short


def verdict_of_one(
    devices: Sequence[_Kept], request: Sequence[int], used: Sequence[int], offered: Sequence[int]
) -> int:
    """Return the verdict about one node: the first device with too little left, 0 for none."""
    for device in devices:
        if offered[device.row] > 0:
            idle_devices = offered[device.row] - used[device.row]
            for row, numerator, denominator in device.beside:
                if offered[row] - used[row] - request[row] < -(-idle_devices * numerator // denominator):
                    return device.verdict
    return 0


def _names_without_any(session: Session, device: _Kept) -> BoolArray:
    """Return the nodes that name a device but have none of it, shape (N,)."""
    name, facts = session.resources.names[device.row], session.nodes.facts
    has_none: BoolArray = session.nodes.table.allocatable[device.row] == 0
    if not has_none.any():
        return has_none
    named = facts.derive(
        ("names", name), lambda: np.array([name in node.allocatable for node in facts.nodes], np.bool_)
    )
    return has_none & named


def _or_one(value: int) -> int:
    return value if value >= 0 else 1


def _rates(reserve: Reserve) -> tuple[Fraction, Fraction]:
    """Return thousandths of a CPU and bytes for each idle unit."""
    cpu = reserve.cpu if reserve.cpu >= 0 else Fraction(1)
    memory = reserve.memory if reserve.memory >= 0 else Fraction(1)
    return cpu * MILLI, memory * GIGA


def fit_of(session: Session, task: Task, counted: Mapping[str, FitResource]) -> Fit:
    """Return the resources that count for a task: by its annotations if it has one of them, or as configured."""
    annotations = task.pod.metadata.annotations
    asked = [name for name, amount in task.template.request.items() if amount > 0]
    kind = annotations.get(SCORING_TYPE, "")
    if kind:
        weights = _annotated(annotations.get(SCORING_WEIGHTS, ""))
        chosen = {name: FitResource(type=kind, weight=weights[name]) for name in asked if name in weights}
        total = sum(max(each.weight, 0) for each in chosen.values())
        if kind not in {LEAST, MOST}:
            chosen = {}
    else:
        found = {name: lookup(counted, name) for name in asked}
        chosen = {
            name: FitResource(type=each.type, weight=each.weight if each.weight > 0 else 1)
            for name, each in found.items()
            if each is not None
        }
        total = sum(each.weight for each in chosen.values())
    space = session.resources
    rows = np.array([space.rows[name] for name in chosen], dtype=np.int64)
    request = space.vector(task.template.request)[rows]
    importance = tuple(each.weight for each in chosen.values())
    fills = tuple(each.type == MOST for each in chosen.values())
    return Fit(
        rows=rows,
        request=request,
        weights=importance,
        fills=fills,
        total=total,
        counted=tuple(zip(rows.tolist(), request.tolist(), importance, fills, strict=True)),
    )


def _annotated(text: str) -> dict[str, int]:
    """Parse weights by name; empty if the text is invalid."""
    try:
        weights: Any = read_json(text, object)
    except ValueError:
        return {}
    is_weights = isinstance(weights, dict) and all(type(each) is int for each in weights.values())
    return weights if is_weights else {}


def lookup(patterns: Mapping[str, Found], name: str) -> Found | None:
    """Return the value for a name: that of the name itself, or that of the longest matching prefix (`nvidia.com/*`)."""
    if name in patterns:
        return patterns[name]
    prefixes = [key for key in patterns if is_prefix(key)]
    best = max((key for key in prefixes if name.startswith(key[:-1])), key=len, default=None)
    return None if best is None else patterns[best]


def is_prefix(pattern: str) -> bool:
    """Return whether a pattern is a prefix followed by an asterisk."""
    return pattern.count("*") == 1 and len(pattern) > 1 and pattern.endswith("*")


def fit_after(fit: Fit, used: IntArray, allocatable: IntArray) -> FloatArray:
    """Score how well a task fits each node, by the used or free fraction with the task on it.

    Args:
        fit: Resources that count, k of them.
        used: Used amounts of each node, base units, shape (k, n).
        allocatable: Allocatable amounts of each node, base units, shape (k, n).

    Returns:
        Scores from 0 to 100, shape (n,). A resource that a node does not offer adds nothing, its weight counts; a node
        that the task would overfill scores 0.
    """
    scores = np.zeros(used.shape[1])
    overfull = np.zeros(used.shape[1], dtype=np.bool_)
    # Row by row instead of a matrix product: equal nodes get scores that are equal to the last bit.
    for row, (asked, weight, fills) in enumerate(zip(fit.request.tolist(), fit.weights, fit.fills, strict=True)):
        if weight > 0:
            offered, after = allocatable[row], used[row] + asked
            overfull |= (after > offered) & (offered > 0)
            share = after if fills else offered - after
            scores += np.where(offered > 0, share * float(weight) / np.maximum(offered, 1), 0.0)
    return np.where(overfull, 0.0, scores / fit.total * MAX_SCORE)


def fit_of_one(fit: Fit, used: Sequence[int], offered: Sequence[int]) -> float:
    """Score one node as `fit_after` does, from whole columns. For one node, plain numbers are faster than numpy."""
    score = 0.0
    for row, asked, weight, fills in fit.counted:
        room = offered[row]
        if weight > 0 and room > 0:
            after = used[row] + asked
            if after > room:
                return 0.0
            score += (after if fills else room - after) * float(weight) / room
    return score / fit.total * MAX_SCORE
