"""Cluster writers: the binder, evictor, status writer and event recorder of the cache."""

from dataclasses import dataclass

from pyroclast.kube.writes.binding import Binder
from pyroclast.kube.writes.events import EventRecorder
from pyroclast.kube.writes.evictor import Evictor
from pyroclast.kube.writes.status import StatusWriter

__all__ = ["ClusterWriters"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWriters:
    """The four writers through which the cache changes the cluster."""

    binder: Binder
    evictor: Evictor
    statuses: StatusWriter
    events: EventRecorder
