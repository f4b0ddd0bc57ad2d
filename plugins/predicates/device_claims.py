"""Resource claims of tasks: claims are not allocated by this scheduler yet, so their pods wait with a reason.

A kubelet starts no pod whose claims are not allocated and reserved for it. Such a pod would occupy resources without
running.  Source: Kubernetes' dynamic resource allocation (`DynamicResources` of kube-scheduler).
"""

from collections.abc import Iterator

from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.model.device_claims import named_claims
from pyroclast.model.tasks import Task

__all__ = ["DeviceClaims"]


class DeviceClaims:
    """Checks the claims that tasks name."""

    def __init__(self, session: Session) -> None:
        self._claims = session.snapshot.objects.resource_claims

    def fault(self, task: Task) -> str:
        """Return why a task's claims exclude all nodes; empty if it has no claims."""
        return next(self._faults(task.pod), "")

    def _faults(self, pod: wire.Pod) -> Iterator[str]:
        for asked, name in named_claims(pod):
            if name is None:
                template = asked.resource_claim_template_name
                yield f'waiting for the resourceclaim "{asked.name}" to be made from template "{template}"'
            elif name and f"{pod.metadata.namespace}/{name}" not in self._claims:
                yield f'resourceclaim "{name}" not found'
            elif name:
                yield f'devices of resourceclaim "{name}" cannot be allocated by this scheduler yet'
