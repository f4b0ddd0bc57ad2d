"""Licences: pods need seats of a licence, an object of a custom resource of your own.

A pod names its licence in an annotation, and its namespace must have a `Licence` of that name with a free seat. The
plugin watches Licences and counts seats as it places pods. A controller, which runs while the scheduler leads, writes
the number of used seats into the status of each Licence.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast import Change, Ledger, Plugin, Queue, Refusal, Session, Task, WatchedKind, contract

NAME = "example.com/licence"
"""Annotation of pods: the licence that they need."""
LICENCES = WatchedKind(group="example.com", version="v1", resource="licences", kind="Licence")
PODS = WatchedKind(version="v1", resource="pods", kind="Pod", labels={"example.com/licensed": "true"})
"""Pods for the controller, which reads nothing of a session."""
COUNT_SECONDS = 5.0
"""Interval at which a licence is counted again, because changes of pods do not call its controller."""


class Licences(Plugin):
    """Gives pods seats."""

    name = "licences"
    watches_clock = False
    guards_victims = False

    def watched_kinds(self) -> Sequence[WatchedKind]:
        """Watch licences for decisions, and pods for the controller."""
        return (LICENCES, PODS)

    def controllers(self) -> Sequence[contract.PluginController]:
        """Count used seats."""
        return (contract.PluginController(name="used-seats", kind=LICENCES, reconcile=count_seats),)

    def on_session_open(self, session: Session) -> None:
        """Read the seats of each licence, and count those in use."""
        seats = Seats(session.snapshot.objects.of(LICENCES), self.name)
        for column in range(len(session.nodes)):
            seats.used.update(filter(None, map(licence_of, session.nodes.tasks_on(column).values())))
        session.extensions.register(contract.ALLOCATABLE, self.name, seats.has_free)
        session.extensions.register_ledger(self.name, seats)


class Seats(Ledger):
    """Seats of each licence in a session."""

    def __init__(self, licences: Mapping[str, Mapping[str, Any]], plugin: str) -> None:
        """Start with no seat in use."""
        self.plugin = plugin
        self.total = {key: _whole(licence.get("spec", {}).get("seats")) for key, licence in licences.items()}
        """Seats by `namespace/name`."""
        self.used: Counter[str] = Counter()

    def has_free(self, _queue: Queue, task: Task) -> Refusal | None:
        """Return why a pod gets no seat."""
        name = licence_of(task)
        if name is None or self.used[name] < self.total.get(name, 0):
            return None
        if name in self.total:
            reason, message = "NoFreeSeat", f"all {self.total[name]} seats of licence {name} are in use"
        else:
            reason, message = "NoLicence", f"there is no licence {name}"
        return Refusal(plugin=self.plugin, reason=reason, message=message, resolvable=False)

    def apply(self, change: Change) -> None:
        """Count the seats of pods that are placed or evicted."""
        self._count(change, change.sign)

    def revert(self, change: Change) -> None:
        """Undo that."""
        self._count(change, -change.sign)

    def _count(self, change: Change, sign: int) -> None:
        for name in filter(None, map(licence_of, change.tasks)):
            self.used[name] += sign


def licence_of(task: Task) -> str | None:
    """Return the key of the licence that a pod needs."""
    name = task.pod.metadata.annotations.get(NAME)
    return f"{task.namespace}/{name}" if name else None


async def count_seats(request: contract.ReconcileRequest) -> float | None:
    """Write the number of used seats into the status of a licence if it has changed."""
    licence = request.object
    if licence is None:
        return None
    used = sum(_holds(pod, request) for pod in request.objects(PODS).values())
    if licence.get("status", {}).get("used") != used:
        await request.api.merge(LICENCES, licence, {"status": {"used": used}}, subresource="status")
    return COUNT_SECONDS


def _holds(pod: Mapping[str, Any], request: contract.ReconcileRequest) -> bool:
    """Return whether a pod on a node has a seat of the licence of a request."""
    metadata = pod["metadata"]
    return (
        metadata.get("namespace") == request.namespace
        and metadata.get("annotations", {}).get(NAME) == request.name
        and bool(pod.get("spec", {}).get("nodeName"))
        and pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}
    )


def _whole(value: Any) -> int:
    """Return a number of seats; 0 for what the definition of the custom resource does not allow."""
    return value if isinstance(value, int) else 0
