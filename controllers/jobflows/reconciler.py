"""Reconciler: executes the decisions about flows.

something changed ──▶ decide ──▶ make Jobs, or delete those of a flow that succeeded ──▶ write the status
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

import msgspec

from pyroclast.controllers.jobflows.decide import decide
from pyroclast.controllers.jobflows.metrics import ENDED
from pyroclast.controllers.jobs.patches import difference
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.keys import controller_index, keys_of_controller, own_key
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.controllers.runtime.writer import controlled_by
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import JOB_FLOWS, JOB_TEMPLATES, JOBS
from pyroclast.model.api.batch import Job
from pyroclast.model.api.flow import JobFlow, JobFlowStatus, JobTemplate

__all__ = ["JobFlows"]

_BY_JOB_FLOW: Final = "jobflow"
_BY_TEMPLATE: Final = "template"
_MOST_AT_A_TIME: Final = 64
"""Jobs that are created, and Jobs that are deleted, before other flows have their turn."""
_REST_SECONDS: Final = 0.1
"""Wait for the others; by then the store shows the Jobs that were created."""


class JobFlows(Controller):
    """Creates the Jobs of flows. Its keys are JobFlows."""

    name: ClassVar[str] = "jobflow"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch flows, templates and Jobs."""
        self._flows: Store[JobFlow] = operator.store(JOB_FLOWS, {_BY_TEMPLATE: _templates_of})
        self._templates: Store[JobTemplate] = operator.store(JOB_TEMPLATES)
        self._jobs: Store[Job] = operator.store(JOBS, {_BY_JOB_FLOW: controller_index(JOB_FLOWS)})
        self._expected = operator.expectations()
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=JOB_FLOWS, keys=own_key),
                Watch(resource=JOBS, keys=keys_of_controller(JOB_FLOWS)),
                Watch(resource=JOB_TEMPLATES, keys=self._keys_of_users),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Execute the next step of a flow.

        Raises:
            ApiError: The server refused.
        """
        job_flow = self._flows.get(*key)
        if job_flow is None or job_flow.metadata.deletion_timestamp:
            self._expected.forget(key)
            return None
        # A status that the store does not show yet would be overwritten with an older one.
        wait = self._expected.wait(key)
        if wait is not None:
            return wait
        jobs = self._jobs.by(_BY_JOB_FLOW, job_flow.metadata.uid)
        decision = decide(job_flow, jobs, lambda name: self._templates.get(key[0], name), self._operator.clock.wall())
        for warning in decision.warnings[:_MOST_AT_A_TIME]:
            self._warn(job_flow, warning)
        refusals = [await self._delete(job_flow, job) for job in decision.deletes[:_MOST_AT_A_TIME]]
        refusals += [await self._make(job_flow, manifest) for manifest in decision.makes[:_MOST_AT_A_TIME]]
        await self._write(key, job_flow, decision.status)
        for refusal in filter(None, refusals):
            raise refusal  # the other Jobs were processed, and the status contains them
        is_all = max(len(decision.deletes), len(decision.makes)) <= _MOST_AT_A_TIME
        return None if is_all else _REST_SECONDS

    async def _delete(self, job_flow: JobFlow, job: Job) -> ApiError | None:
        """Delete a Job of a flow that succeeded. Return the error if the server refuses."""
        try:
            await self._operator.writer.delete(JOBS, job.metadata)
        except ApiError as error:
            self._warn(job_flow, f"job {job.metadata.name} could not be deleted: {error.message}")
            return error
        return None

    async def _make(self, job_flow: JobFlow, manifest: dict[str, Any]) -> ApiError | None:
        """Create a Job unless it exists. Return the error if the server refuses it."""
        name = manifest["metadata"]["name"]
        try:
            made = await self._operator.writer.create(JOBS, manifest)
        except ApiError as error:
            self._warn(job_flow, f"job {name} could not be made: {error.message}")
            return error
        if made.is_new:
            self._operator.record(JOB_FLOWS, job_flow, "Normal", "Created", f"create a job named {name}!")
        elif not controlled_by(made.object, job_flow.metadata.uid):
            self._warn(job_flow, f"job {name} exists but is not owned by this flow")
        return None

    async def _write(self, key: Key, job_flow: JobFlow, status: JobFlowStatus) -> None:
        """Write the status if it has changed, and count flows that ended."""
        if status == job_flow.status:
            return
        change = difference(msgspec.to_builtins(job_flow.status), msgspec.to_builtins(status))
        # The patch contains only the difference, so it must apply to the version that it was computed from.
        answer = await self._operator.writer.merge(
            JOB_FLOWS, job_flow.metadata, {"status": change}, subresource="status", is_of_version=True
        )
        self._expected.wrote(key, self._flows, answer)
        phase = status.state.phase
        if phase != job_flow.status.state.phase and phase in ENDED:
            ENDED[phase].labels(job_flow.metadata.namespace).inc()

    def _warn(self, job_flow: JobFlow, message: str) -> None:
        self._operator.record(JOB_FLOWS, job_flow, "Warning", "SyncJobFlow", message)

    def _keys_of_users(self, old: JobTemplate | None, new: JobTemplate | None) -> Iterable[Key]:
        """Return the flows that use a template."""
        template = new or old
        if template is None:
            return ()
        namespace = template.metadata.namespace
        users = self._flows.by(_BY_TEMPLATE, template.metadata.name)
        return [key_of(flow) for flow in users if flow.metadata.namespace == namespace]


def _templates_of(job_flow: JobFlow) -> Iterable[str]:
    """Return the names of the templates that a flow uses."""
    return sorted({flow.name for flow in job_flow.spec.flows})
