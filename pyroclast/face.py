"""The public interface of Pyroclast: the names that plugin authors and users of the library may import.

Belongs here: re-exported names, the only ones with a promise of stability. Does not belong here: code.
`pyroclast.testing` makes clusters for tests in a few lines.
"""

from pyroclast.framework.candidates.candidate_nodes import CandidateNodes
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import (
    Action,
    Allocation,
    Allocator,
    Change,
    Ledger,
    Locality,
    Move,
    NumaHint,
    Plugin,
    RegistrationOptions,
    Verb,
    Vote,
)
from pyroclast.framework.extension.outside import Answer, Outside, Question
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.extension.registry import register_action, register_plugin
from pyroclast.framework.session.evictions import SessionEvictions
from pyroclast.framework.session.jobs import SessionJobs
from pyroclast.framework.session.queues import SessionQueues
from pyroclast.framework.session.report import SessionReport
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.session.topology import SessionTopology
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.nodes import NodeColumns, NodeView, SessionNodes
from pyroclast.framework.state.reservations import ReservationView
from pyroclast.kube.writes.binding import Binder, BindOutcome, PlanOutcome, Preparer, register_binder, register_preparer
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray, ReasonArray
from pyroclast.model.errors import ArgumentError, ConfigError, PyroclastError
from pyroclast.model.ids import JobId, NodeName, QueueName, SubJobId, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.nodes import Node, NodeFacts
from pyroclast.model.plan import Bind, Eviction, Nomination, Plan, Preparation
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.resources import Amounts, ResourceSpace
from pyroclast.model.snapshot import ClusterObjects, Snapshot
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate
from pyroclast.model.watched import Unstructured, WatchedKind

__all__ = [
    "Action",
    "Allocation",
    "Allocator",
    "Amounts",
    "Answer",
    "ArgumentError",
    "Bind",
    "BindOutcome",
    "Binder",
    "BoolArray",
    "CandidateNodes",
    "Change",
    "ClusterObjects",
    "ConfigError",
    "Eviction",
    "Extensions",
    "FloatArray",
    "IntArray",
    "Job",
    "JobId",
    "Ledger",
    "Locality",
    "Move",
    "Node",
    "NodeColumns",
    "NodeFacts",
    "NodeName",
    "NodeView",
    "Nomination",
    "NumaHint",
    "Outside",
    "Plan",
    "PlanOutcome",
    "Plugin",
    "PodGroupPhase",
    "Preparation",
    "Preparer",
    "PyroclastError",
    "Question",
    "Queue",
    "QueueName",
    "Reason",
    "ReasonArray",
    "Refusal",
    "RegistrationOptions",
    "ReservationView",
    "ResourceSpace",
    "Session",
    "SessionEvictions",
    "SessionJob",
    "SessionJobs",
    "SessionNodes",
    "SessionQueues",
    "SessionReport",
    "SessionTopology",
    "Snapshot",
    "Statement",
    "SubJob",
    "SubJobId",
    "Task",
    "TaskId",
    "TaskStatus",
    "TaskTemplate",
    "Unstructured",
    "Verb",
    "Vote",
    "WatchedKind",
    "contract",
    "register_action",
    "register_binder",
    "register_plugin",
    "register_preparer",
]
