"""Limits: thresholds of nodes, and the usage that is compared with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec
import numpy as np

from pyroclast.framework.configuration.conversions import duration
from pyroclast.model.arrays import IntArray
from pyroclast.model.colocation import RAW_ALLOCATABLE, USAGE_THRESHOLDS
from pyroclast.model.load import NANOSECONDS
from pyroclast.model.nodes import Node, NodeFacts
from pyroclast.model.quantity import millis, units
from pyroclast.model.requests import LARGEST_REQUEST
from pyroclast.model.resources import CPU, MILLI
from pyroclast.plugins.load_aware.arguments import LoadAwareArgs, Numbers, Statistic

__all__ = ["AVERAGE", "OF_PROD", "Limits", "Measure", "NodeLimits", "limits_of", "measure_of"]


class Measure(NamedTuple):
    """Kind of usage that counts."""

    is_prod: bool = False
    """Whether only pods of the class koord-prod count."""
    statistic: str = ""
    """Statistic of the node; empty for the average of the last measurement."""
    nanoseconds: int = 0
    """Period of the statistic; 0 for the longest reported period."""


AVERAGE: Final = Measure()
OF_PROD: Final = Measure(is_prod=True)

_LARGEST: Final = 100


class _OwnStatistic(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Statistic in a node's annotation."""

    usage_thresholds: dict[str, int] = {}
    usage_aggregation_type: Statistic = ""
    usage_aggregated_duration: str | None = None


class _Own(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The annotation of a node."""

    usage_thresholds: dict[str, int] = {}
    prod_usage_thresholds: dict[str, int] = {}
    aggregated_usage: _OwnStatistic | None = None


_OWN: Final = msgspec.json.Decoder(_Own)
_AMOUNTS: Final = msgspec.json.Decoder(dict[str, str | int | float])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """Limits for pods of one kind; R resources, N nodes."""

    thresholds: IntArray
    """Thresholds in percent, 0 for none, shape (R, N)."""
    measures: tuple[Measure, ...]
    """Usage that is compared with them, by column."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeLimits:
    """Limits from Node objects."""

    prod: Limits
    """For pods of the class koord-prod."""
    others: Limits
    allocatable: IntArray
    """Allocatable amounts before amplification: thousandths for CPU, whole units for others, shape (R, N)."""
    faults: tuple[tuple[int, str], ...]
    """Faults of node annotations, by column."""


class _Rule(NamedTuple):
    """Thresholds of one node, by resource."""

    plain: Numbers
    prod: Numbers
    aggregated: Numbers
    measure: Measure
    """Usage that is compared with the aggregated thresholds; `AVERAGE` if there are none."""


def measure_of(statistic: str, seconds: Fraction) -> Measure:
    """Return a statistic of a period; the average if neither is set."""
    return Measure(statistic=statistic, nanoseconds=int(seconds * NANOSECONDS))


def limits_of(facts: NodeFacts, args: LoadAwareArgs) -> NodeLimits:
    """Return the limits of all nodes, calculated once for these facts."""
    return facts.derive(("load-aware", repr(args)), lambda: _limits(facts.nodes, args))


def _limits(nodes: Sequence[Node], args: LoadAwareArgs) -> NodeLimits:
    faults: list[tuple[int, str]] = []
    rules, offers, otherwise, resources = [], [], _rule_of(args), args.resources
    for column, node in enumerate(nodes):
        reader = _Reader(node)
        rules.append(reader.rule(otherwise))
        offers.append(reader.allocatable(resources))
        faults += [(column, fault) for fault in reader.faults]
    others = [_for_others(rule) for rule in rules]
    prod = [_for_prod(rule) or other for rule, other in zip(rules, others, strict=True)]
    return NodeLimits(
        prod=_table(prod, resources),
        others=_table(others, resources),
        allocatable=np.array(offers, dtype=np.int64).reshape(len(nodes), len(resources)).T,
        faults=tuple(faults),
    )


def _rule_of(args: LoadAwareArgs) -> _Rule:
    aggregated = args.aggregated
    measure = AVERAGE
    if aggregated.thresholds and aggregated.kind:
        measure = measure_of(aggregated.kind, aggregated.seconds)
    return _Rule(args.thresholds, args.prod_thresholds, aggregated.thresholds, measure)


def _for_others(rule: _Rule) -> tuple[Numbers, Measure]:
    return (rule.plain if rule.measure == AVERAGE else rule.aggregated), rule.measure


def _for_prod(rule: _Rule) -> tuple[Numbers, Measure] | None:
    return (rule.prod, OF_PROD) if any(rule.prod.values()) else None


def _table(rows: Sequence[tuple[Numbers, Measure]], resources: Sequence[str]) -> Limits:
    percents = [[numbers.get(name, 0) for name in resources] for numbers, _ in rows]
    return Limits(
        thresholds=np.array(percents, dtype=np.int64).reshape(len(rows), len(resources)).T,
        measures=tuple(measure for _, measure in rows),
    )


class _Reader:
    """Reads the annotations of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.faults: list[str] = []

    def rule(self, otherwise: _Rule) -> _Rule:
        """Return the thresholds of the node from its annotation, or else from the arguments."""
        text = self._node.annotations.get(USAGE_THRESHOLDS)
        if text is None:
            return otherwise
        try:
            return _overridden(otherwise, _OWN.decode(text))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            self._complain(USAGE_THRESHOLDS, str(error), "the arguments apply")
            return otherwise

    def allocatable(self, resources: Sequence[str]) -> list[int]:
        """Return the allocatable amounts of the node before amplification."""
        offered = self._node.allocatable
        amounts = {name: offered[name] if name == CPU else -(-offered[name] // MILLI) for name in offered}
        text = self._node.annotations.get(RAW_ALLOCATABLE)
        if text is not None:
            try:
                amounts |= _read_amounts(text)
            except (msgspec.DecodeError, ValueError, RecursionError) as error:
                self._complain(RAW_ALLOCATABLE, str(error), "status.allocatable applies")
        return [amounts.get(name, 0) for name in resources]

    def _complain(self, annotation: str, error: str, instead: str) -> None:
        self.faults.append(f"{annotation}: {error}; {instead}")


def _overridden(rule: _Rule, own: _Own) -> _Rule:
    """Return the thresholds of a node with an annotation. Aggregated ones count only with thresholds and a type."""
    theirs = own.aggregated_usage or _OwnStatistic()
    for numbers in (own.usage_thresholds, own.prod_usage_thresholds, theirs.usage_thresholds):
        if not all(0 <= number <= _LARGEST for number in numbers.values()):
            raise ValueError(f"thresholds are percentages from 0 to {_LARGEST}")
    try:
        seconds = duration(theirs.usage_aggregated_duration or "0")
    except ValueError as error:
        raise ValueError(f"usageAggregatedDuration: expected {error}") from None
    is_aggregated = bool(theirs.usage_thresholds and theirs.usage_aggregation_type)
    return _Rule(
        own.usage_thresholds or rule.plain,
        own.prod_usage_thresholds or rule.prod,
        theirs.usage_thresholds if is_aggregated else rule.aggregated,
        measure_of(theirs.usage_aggregation_type, seconds) if is_aggregated else rule.measure,
    )


def _read_amounts(text: str) -> dict[str, int]:
    """Parse amounts by resource. QuantityErrors are ValueErrors."""
    read = {
        name: min(millis(amount) if name == CPU else units(amount), LARGEST_REQUEST)
        for name, amount in _AMOUNTS.decode(text).items()
    }
    if any(amount < 0 for amount in read.values()):
        raise ValueError("amounts are at least 0")
    return read
