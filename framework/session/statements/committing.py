"""Committing: converts the operations of a statement to a plan that is executed later."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET

from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.session.statements.statement import Operation
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.api.names import LENT
from pyroclast.model.counted import COUNTED, counted_text
from pyroclast.model.ids import TaskId
from pyroclast.model.patches import annotation_of, patch_of
from pyroclast.model.plan import Bind, Eviction, Nomination, Plan
from pyroclast.model.reservations.names import ALLOCATED
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["begin_binding", "plan_of"]


def plan_of(
    operations: Sequence[Operation],
    extensions: Extensions,
    *,
    number: int,
    cycle: int,
    configuration: int,
    action: str,
    is_lent: bool,
    together: bool,
    reserve_tasks: Mapping[TaskId, str],
) -> Plan:
    """Return operations as a plan, changing nothing.

    Args:
        operations: Those of one statement.
        extensions: Prepare and annotate bindings.
        number: Which plan of its cycle it is, from 0 on.
        cycle: Number of the cycle.
        configuration: Generation of the configuration.
        action: The action that decides.
        is_lent: Whether the capacity is lent beyond a queue's share.
        together: Whether evictions without a beneficiary depend on each other.
        reserve_tasks: Name of the Reservation by the task that stands for it.

    Raises:
        BindingRefused: A plugin failed that prepares bindings.
    """
    placed = next((op.change.job for op in operations if op.change.verb is not Verb.EVICT), None)
    return Plan(
        number=number,
        cycle=cycle,
        configuration=configuration,
        action=action,
        job=None if placed is None else placed.id,
        queue=None if placed is None else placed.queue,
        binds=tuple(_binds(operations, extensions, reserve_tasks, is_lent=is_lent)),
        evictions=tuple(_evictions(operations, placed)),
        nominations=tuple(_nominations(operations)),
        together=together or UNSET,
    )


def begin_binding(operations: Sequence[Operation]) -> None:
    """Set the tasks that a plan binds to binding."""
    for operation in operations:
        change = operation.change
        if change.verb is Verb.ALLOCATE:
            binding = [task.moved(TaskStatus.BINDING, task.node) for task in change.tasks]
            change.job.move(binding, TaskStatus.ALLOCATED, TaskStatus.BINDING, change.amounts)


def _binds(
    operations: Sequence[Operation], extensions: Extensions, reserve_tasks: Mapping[TaskId, str], *, is_lent: bool
) -> Iterator[Bind]:
    placements = [operation for operation in operations if operation.change.verb is Verb.ALLOCATE]
    together = extensions.annotations_for_plan([task for each in placements for task in each.change.tasks])
    for operation in placements:
        change = operation.change
        for before, task, column in zip(operation.before, change.tasks, change.columns, strict=True):
            assert task.node is not None, "an allocated task has a node"
            written = _annotations(extensions, task, column, together, is_lent=is_lent)
            if task.template is not before.template:
                written[COUNTED] = counted_text(before.template.request, task.template.request)
            annotations = SealedDict(written)
            preparations = extensions.preparations_for(task, column)
            labels = {} if task.id in reserve_tasks else extensions.labels_for(task, column)
            if labels:  # last, so that it is closest to the bind
                preparations = (*preparations, patch_of(task, labels, annotations))
            delegate = extensions.delegate_for(task, column)
            if delegate and not labels and annotations.get(ALLOCATED):
                # a delegate that is an extender of kube-scheduler sends no annotations, and usage would be lost
                preparations = (*preparations, annotation_of(task, ALLOCATED, annotations[ALLOCATED]))
            yield Bind(
                task=task.id,
                job=task.job,
                namespace=task.namespace,
                name=task.name,
                node=task.node,
                annotations=annotations,
                preparations=preparations,
                labels=SealedDict(labels) if labels else UNSET,
                delegate=delegate or UNSET,
                reservation=reserve_tasks.get(task.id, UNSET),
            )


def _annotations(
    extensions: Extensions,
    task: Task,
    column: int,
    together: Mapping[TaskId, Mapping[str, str]],
    *,
    is_lent: bool,
) -> dict[str, str]:
    annotations = extensions.annotations_for(task, column)
    if task.id in together:
        annotations |= together[task.id]
    if is_lent:
        annotations[LENT] = "true"
    return annotations


def _evictions(operations: Sequence[Operation], beneficiary: SessionJob | None) -> Iterator[Eviction]:
    gives_way = "" if beneficiary is None else f" to make room for {beneficiary.id} of queue {beneficiary.queue}"
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
