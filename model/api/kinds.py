"""The kinds that we define, each once."""

from typing import Final

from pyroclast.model.api.batch import CronJob, Job
from pyroclast.model.api.bus import Command
from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.devices import KoordinatorDevice
from pyroclast.model.api.flow import JobFlow, JobTemplate
from pyroclast.model.api.nodeinfo import Numatopology
from pyroclast.model.api.quota import ElasticQuota, ElasticQuotaProfile
from pyroclast.model.api.reservation import Reservation
from pyroclast.model.api.scheduling import PodGroup, Queue
from pyroclast.model.api.shard import NodeShard
from pyroclast.model.api.topology import HyperNode

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
    KoordinatorDevice,
    Reservation,
)
