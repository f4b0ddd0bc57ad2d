"""Pyroclast's public face: what authors of plugins and users of the library may import.

Belongs here: names re-exported for outsiders, and nothing else is promised to them. Does not: code. `pyroclast.testing`
gives tests a cluster in a few lines.
"""

from framework.extension import points
from framework.extension.ledgers import Change, Ledger, Verb
from framework.extension.outside import Answer, Outside, Question
from framework.extension.points import Locality, Vote
from framework.extension.registry import Action, Plugin, register_action, register_plugin
from framework.session.jobs import SessionJob, SubJob
from framework.session.nodes import NodeColumns, NodeView
from framework.session.session import Session
from framework.session.statement import Statement
from kube.binding import Binder, BindOutcome, PlanOutcome, Preparer, register_binder, register_preparer
from model.arrays import BoolArray, FloatArray, IntArray, ReasonArray
from model.errors import ArgumentError, ConfigError, PyroclastError
from model.ids import JobId, NodeName, QueueName, SubJobId, TaskId
from model.jobs import Job, JobPhase
from model.nodes import Node
from model.plan import Bind, Eviction, Nomination, Plan, Preparation
from model.queues import Queue
from model.refusals import Reason, Refusal
from model.resources import Amounts, ResourceSpace
from model.snapshot import ClusterObjects, Snapshot
from model.tasks import Task, TaskStatus, TaskTemplate

__all__ = [
    "Action",
    "Amounts",
    "Answer",
    "ArgumentError",
    "Bind",
    "BindOutcome",
    "Binder",
    "BoolArray",
    "Change",
    "ClusterObjects",
    "ConfigError",
    "Eviction",
    "FloatArray",
    "IntArray",
    "Job",
    "JobId",
    "JobPhase",
    "Ledger",
    "Locality",
    "Node",
    "NodeColumns",
    "NodeName",
    "NodeView",
    "Nomination",
    "Outside",
    "Plan",
    "PlanOutcome",
    "Plugin",
    "Preparation",
    "Preparer",
    "PyroclastError",
    "Question",
    "Queue",
    "QueueName",
    "Reason",
    "ReasonArray",
    "Refusal",
    "ResourceSpace",
    "Session",
    "SessionJob",
    "Snapshot",
    "Statement",
    "SubJob",
    "SubJobId",
    "Task",
    "TaskId",
    "TaskStatus",
    "TaskTemplate",
    "Verb",
    "Vote",
    "points",
    "register_action",
    "register_binder",
    "register_plugin",
    "register_preparer",
]
