"""Templates: records in the status of each JobTemplate the Jobs that were created from it."""

from collections.abc import Iterable
from typing import ClassVar, Final

from pyroclast.controllers.jobflows.decide import full_name
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.keys import own_key
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.kube.api.resources import JOB_TEMPLATES, JOBS
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job
from pyroclast.model.api.flow import JobTemplate

__all__ = ["JobTemplates"]

_BY_TEMPLATE: Final = "jobtemplate"


class JobTemplates(Controller):
    """Writes the statuses of JobTemplates. Its keys are JobTemplates."""

    name: ClassVar[str] = "jobtemplate"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch templates and Jobs."""
        self._templates: Store[JobTemplate] = operator.store(JOB_TEMPLATES)
        self._jobs: Store[Job] = operator.store(JOBS, {_BY_TEMPLATE: _template_of})
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=JOB_TEMPLATES, keys=own_key),
                Watch(resource=JOBS, keys=_keys_of_template),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Write the Jobs of a template.

        Raises:
            ApiError: The server refused.
        """
        template = self._templates.get(*key)
        if template is None or template.metadata.deletion_timestamp:
            return None
        jobs = [job.metadata.name for job in self._jobs.by(_BY_TEMPLATE, full_name(*key))]
        if tuple(jobs) != template.status.job_depends_on_list:
            change = {"status": {"jobDependsOnList": jobs}}
            await self._operator.writer.merge(JOB_TEMPLATES, template.metadata, change, subresource="status")
        return None


def _template_of(job: Job) -> Iterable[str]:
    """Return the template in the annotation or label of a Job, if it is in the Job's namespace."""
    template = job.metadata.annotations.get(names.CREATED_BY_JOB_TEMPLATE, "") or job.metadata.labels.get(
        names.CREATED_BY_JOB_TEMPLATE, ""
    )
    return (template,) if template.startswith(f"{job.metadata.namespace}.") else ()


def _keys_of_template(old: Job | None, new: Job | None) -> Iterable[Key]:
    """Return the template of a Job that was created or deleted."""
    if old is not None and new is not None:
        return ()
    found = [(job.metadata.namespace, name) for job in (old, new) if job is not None for name in _template_of(job)]
    return [(namespace, name.removeprefix(f"{namespace}.")) for namespace, name in found]
