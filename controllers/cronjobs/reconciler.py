"""Reconciler: executes the decisions about CronJobs.

    something changed, or a time has come ──▶ decide ──▶ write the status ──▶ delete old and replaced Jobs
    ──▶ make the Job that is due ──▶ write the status

If the process is killed between two steps, the next call continues: a created Job is found by its owner reference, and
its annotation contains its time.
"""

from typing import ClassVar, Final

import msgspec

from pyroclast.controllers.cronjobs.decide import Decision, decide
from pyroclast.controllers.cronjobs.status import with_job
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.keys import controller_index, keys_of_controller, own_key
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.controllers.runtime.writer import controlled_by
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import CRON_JOBS, JOBS
from pyroclast.model.api.batch import CronJob, CronJobStatus, Job

__all__ = ["CronJobs", "build"]

_BY_CRON_JOB: Final = "cronjob"


def build(operator: Operator, options: ControllerOptions) -> None:
    """Register the controller with an operator."""
    CronJobs(operator, options)


class CronJobs(Controller):
    """Creates Jobs on a schedule. Its keys are CronJobs."""

    name: ClassVar[str] = "cronjob"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch CronJobs and Jobs."""
        self._cron_jobs: Store[CronJob] = operator.store(CRON_JOBS)
        self._jobs: Store[Job] = operator.store(JOBS, {_BY_CRON_JOB: controller_index(CRON_JOBS)})
        self._expected = operator.expectations()
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=CRON_JOBS, keys=own_key),
                Watch(resource=JOBS, keys=keys_of_controller(CRON_JOBS)),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Execute the next step of a CronJob.

        Raises:
            ApiError: The server refused.
        """
        cron_job = self._cron_jobs.get(*key)
        if cron_job is None or cron_job.metadata.deletion_timestamp:
            self._expected.forget(key)
            return None
        # A created Job that the store does not show yet would be created again, or its running would be missed.
        wait = self._expected.wait(key)
        if wait is not None:
            return wait
        jobs = self._jobs.by(_BY_CRON_JOB, cron_job.metadata.uid)
        decision = decide(cron_job, jobs, self._operator.clock.wall())
        for note in decision.notes:
            self._record(cron_job, note.type, note.reason, note.message)
        await self._write(key, cron_job, decision.status)
        refusals = [await self._delete(key, cron_job, job) for job in decision.deletes]
        for job in decision.replaced:
            if refusal := await self._delete(key, cron_job, job):
                raise refusal
        if decision.manifest is not None:
            made = await self._make(key, cron_job, decision)
            if made is not None:
                status = with_job(decision.status, made, decision.due)
                await self._write(key, msgspec.structs.replace(cron_job, status=decision.status), status)
        for refusal in filter(None, refusals):
            raise refusal  # the due Job was created
        return decision.requeue_after

    async def _make(self, key: Key, cron_job: CronJob, decision: Decision) -> Job | None:
        """Create a Job. Return it or the Job of an earlier attempt, None if another owner's Job has the name."""
        manifest = decision.manifest or {}
        try:
            made = await self._operator.writer.create(JOBS, manifest)
        except ApiError as error:
            self._record(cron_job, "Warning", "FailedCreate", f"Failed to create job: {error.message}")
            raise
        name = manifest["metadata"]["name"]
        if not controlled_by(made.object, cron_job.metadata.uid):
            message = f"Job {name} exists but is not owned by this CronJob"
            self._record(cron_job, "Warning", "ForeignJob", message)
            return None
        self._expected.wrote(key, self._jobs, made.object)
        if made.is_new:
            message = f"Created job {name} for CronJob {cron_job.metadata.key}"
            self._record(cron_job, "Normal", "SuccessfulCreate", message)
        return msgspec.convert(made.object, Job)

    async def _delete(self, key: Key, cron_job: CronJob, job: Job) -> ApiError | None:
        """Delete a Job and its pods. Return the error if the server refuses."""
        try:
            await self._operator.writer.delete(JOBS, job.metadata)
        except ApiError as error:
            message = f'Error deleting job "{job.metadata.name}": {error.message}'
            self._record(cron_job, "Warning", "FailedDelete", message)
            return error
        self._expected.deleted(key, self._jobs, job)
        self._record(cron_job, "Normal", "SuccessfulDelete", f'Deleted job "{job.metadata.name}"')
        return None

    async def _write(self, key: Key, cron_job: CronJob, status: CronJobStatus) -> None:
        """Write the status if it has changed."""
        if status == cron_job.status:
            return
        change = {"status": {"active": [], **msgspec.to_builtins(status)}}
        answer = await self._operator.writer.merge(CRON_JOBS, cron_job.metadata, change, subresource="status")
        self._expected.wrote(key, self._cron_jobs, answer)

    def _record(self, cron_job: CronJob, type_: str, reason: str, message: str) -> None:
        self._operator.record(CRON_JOBS, cron_job, type_, reason, message)
