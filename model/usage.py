"""Usage: measured usage of nodes, and the monitoring system that provides it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from pyroclast.model.ids import NodeName
from pyroclast.model.sealed import SealedDict
from pyroclast.model.secrets import NO_SECRET, SecretText

__all__ = ["FRESH_SECONDS", "NO_USAGE", "NodeUsage", "UsageSource"]

FRESH_SECONDS: Final = 300.0
"""Measurements older than this are ignored."""


class NodeUsage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Averages over the last ten minutes of one node."""

    cpu_percent: float
    """Part of the node's CPU in use, 0 to 100."""
    memory_percent: float
    """Part of the node's memory in use, 0 to 100."""
    measured: float
    """Time of the measurement, seconds since 1970."""


NO_USAGE: Final[Mapping[NodeName, NodeUsage]] = SealedDict()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSource:
    """Source of the measurements, parsed from section `metrics` of a configuration."""

    type: str
    """`prometheus`, `prometheus_adaptor` or `elasticsearch`."""
    address: str = ""
    """URL of the monitoring system; empty for the adaptor, which the API server answers for."""
    interval_seconds: float = 30.0
    """Time between two collections."""
    is_insecure: bool = False
    """Whether certificates go unchecked."""
    index: str = "metricbeat-*"
    """Index of Elasticsearch."""
    username: str = ""
    """User name for basic authentication; empty for none."""
    password: SecretText = NO_SECRET
    host_field: str = "host.hostname"
    """Field of Elasticsearch's documents that names the node."""
