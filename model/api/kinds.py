"""The kinds that we define, each once."""

from typing import Final

from model.api.batch import CronJob, Job
from model.api.bus import Command
from model.api.definitions import KubernetesObject
from model.api.devices import Device
from model.api.flow import JobFlow, JobTemplate
from model.api.nodeinfo import Numatopology
from model.api.quota import ElasticQuota, ElasticQuotaProfile
from model.api.scheduling import PodGroup, Queue
from model.api.shard import NodeShard
from model.api.topology import HyperNode

__all__ = ["KINDS"]

KINDS: Final[tuple[type[KubernetesObject], ...]] = (
    PodGroup,
    Queue,
    Job,
    CronJob,
    Command,
    JobFlow,
    JobTemplate,
    HyperNode,
    Numatopology,
    NodeShard,
    ElasticQuota,
    ElasticQuotaProfile,
    Device,
)
