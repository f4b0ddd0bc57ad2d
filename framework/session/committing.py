"""Committing: converts the operations of a statement to a plan that is executed later."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from pyroclast.framework.extension.ledgers import Verb
from pyroclast.framework.session.statement import Operation
from pyroclast.model.api.names import LENT
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Bind, Eviction, Nomination, Plan
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task, TaskStatus

if TYPE_CHECKING:
    from pyroclast.framework.session.jobs import SessionJob
    from pyroclast.framework.session.session import Session

__all__ = ["begin_binding", "plan_of"]


def plan_of(session: "Session", operations: Sequence[Operation]) -> Plan:
    """Return operations as a plan, changing nothing; raises `BindingRefused` where a plugin fails that prepares one."""
    placed = next((op.change.job for op in operations if op.change.verb is not Verb.EVICT), None)
    return Plan(
        number=len(session.plans),
        cycle=session.cycle,
        configuration=session.generation,
        action=session.action,
        job=None if placed is None else placed.id,
        queue=None if placed is None else placed.queue,
        binds=tuple(_binds(session, operations)),
        evictions=tuple(_evictions(operations, placed)),
        nominations=tuple(_nominations(operations)),
    )


def begin_binding(operations: Sequence[Operation]) -> None:
    """Let the tasks be binding that a plan binds."""
    for operation in operations:
        change = operation.change
        if change.verb is Verb.ALLOCATE:
            binding = [task.moved(TaskStatus.BINDING, task.node) for task in change.tasks]
            change.job.move(binding, TaskStatus.ALLOCATED, TaskStatus.BINDING, change.amounts)


def _binds(session: "Session", operations: Sequence[Operation]) -> Iterator[Bind]:
    changes = [operation.change for operation in operations if operation.change.verb is Verb.ALLOCATE]
    together = session.annotations_for_plan([task for change in changes for task in change.tasks])
    for change in changes:
        for task, column in zip(change.tasks, change.columns, strict=True):
            assert task.node is not None, "an allocated task has a node"
            yield Bind(
                task=task.id,
                job=task.job,
                namespace=task.namespace,
                name=task.name,
                node=task.node,
                annotations=SealedDict(_annotations(session, task, column, together)),
                preparations=session.preparations_for(task, column),
                delegate=session.delegate_for(task, column) or UNSET,
            )


def _annotations(
    session: "Session", task: Task, column: int, together: Mapping[TaskId, Mapping[str, str]]
) -> dict[str, str]:
    annotations = session.annotations_for(task, column)
    if task.id in together:
        annotations |= together[task.id]
    if session.lends:
        annotations[LENT] = "true"
    return annotations


def _evictions(operations: Sequence[Operation], beneficiary: "SessionJob | None") -> Iterator[Eviction]:
    gives_way = "" if beneficiary is None else f" to give way to {beneficiary.id} of queue {beneficiary.queue}"
    for operation in operations:
        if operation.change.verb is Verb.EVICT:
            for task in operation.before:
                assert task.node is not None, "a victim has a node"
                yield Eviction(
                    task=task.id,
                    job=task.job,
                    namespace=task.namespace,
                    name=task.name,
                    node=task.node,
                    reason=operation.reason,
                    message=f"evicted by {operation.reason}{gives_way}" if gives_way else operation.message,
                )


def _nominations(operations: Sequence[Operation]) -> Iterator[Nomination]:
    for operation in operations:
        if operation.change.verb is Verb.PIPELINE and operation.evicts_for:
            for task in operation.change.tasks:
                assert task.node is not None, "a pipelined task has a node"
                yield Nomination(task=task.id, job=task.job, namespace=task.namespace, name=task.name, node=task.node)
