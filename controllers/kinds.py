"""The custom resources as the controllers read them: whole, by the structs of `model.api`."""

from typing import Final, TypeVar

from pyroclast.kube.resources import Resource
from pyroclast.model.api.batch import CronJob, Job
from pyroclast.model.api.bus import Command
from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.flow import JobFlow, JobTemplate
from pyroclast.model.api.quota import ElasticQuota, ElasticQuotaProfile
from pyroclast.model.api.scheduling import PodGroup, Queue
from pyroclast.model.api.topology import HyperNode

__all__ = [
    "COMMANDS",
    "CRON_JOBS",
    "ELASTIC_QUOTAS",
    "ELASTIC_QUOTA_PROFILES",
    "HYPER_NODES",
    "JOBS",
    "JOB_FLOWS",
    "JOB_TEMPLATES",
    "POD_GROUPS",
    "QUEUES",
]

T = TypeVar("T", bound=KubernetesObject)


def _custom(struct: type[T]) -> Resource[T]:
    definition = struct.definition
    return Resource(
        group=definition.group,
        version=definition.version,
        plural=definition.plural,
        kind=definition.kind,
        struct=struct,
        is_namespaced=definition.is_namespaced,
        is_optional=True,
    )


COMMANDS: Final = _custom(Command)
CRON_JOBS: Final = _custom(CronJob)
ELASTIC_QUOTAS: Final = _custom(ElasticQuota)
ELASTIC_QUOTA_PROFILES: Final = _custom(ElasticQuotaProfile)
HYPER_NODES: Final = _custom(HyperNode)
JOBS: Final = _custom(Job)
JOB_FLOWS: Final = _custom(JobFlow)
JOB_TEMPLATES: Final = _custom(JobTemplate)
POD_GROUPS: Final = _custom(PodGroup)
QUEUES: Final = _custom(Queue)
