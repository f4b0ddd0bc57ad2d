"""Pods: the pods that matter to this scheduler, their tasks, and which of them use which claims."""

from collections.abc import Container, Iterable, Iterator, Mapping

from pyroclast.cache.stores.reverse_index import ReverseIndex
from pyroclast.cache.stores.volumes import claim_keys
from pyroclast.model import wire
from pyroclast.model.device_claims import device_claim_keys
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, by_name

__all__ = ["PodStore", "PodsOfServer"]


class PodStore:
    """Pods by UID."""

    def __init__(self) -> None:
        """Start without pods."""
        self.objects: dict[TaskId, wire.Pod] = {}
        self.tasks: dict[TaskId, Task] = {}
        """The task of each pod, with what is assumed of it."""
        self.orphans: dict[TaskId, Refusal] = {}
        """Pods of this scheduler that belong to no job, and why."""
        self._ids_by_key: dict[str, TaskId] = {}
        self._by_claim = ReverseIndex[TaskId, wire.Pod](claim_keys)
        self._by_device_claim = ReverseIndex[TaskId, wire.Pod](device_claim_keys)
        self._with_device_claims: dict[TaskId, Task] = {}
        self._sorted_with_device_claims: tuple[Task, ...] | None = ()

    def put(self, pod: wire.Pod) -> None:
        """Keep a pod, new or changed."""
        task_id = TaskId(pod.metadata.uid)
        known = self.objects.get(task_id)
        self._ids_by_key[pod.metadata.key] = task_id
        self.objects[task_id] = pod
        self._by_claim.note(task_id, known, pod)
        self._by_device_claim.note(task_id, known, pod)

    def drop(self, task_id: TaskId) -> Task | None:
        """Forget a pod, and return its task; None if the pod is not known."""
        pod = self.objects.pop(task_id, None)
        if pod is None:
            return None
        if self._ids_by_key.get(pod.metadata.key) == task_id:
            del self._ids_by_key[pod.metadata.key]
        self._by_claim.note(task_id, pod, None)
        self._by_device_claim.note(task_id, pod, None)
        self.orphans.pop(task_id, None)
        return self.tasks.pop(task_id)

    def namesake(self, pod: wire.Pod) -> TaskId | None:
        """Return the UID of another pod with the same namespace and name, which this pod replaces."""
        previous = self._ids_by_key.get(pod.metadata.key)
        return None if previous == TaskId(pod.metadata.uid) else previous

    def exchange(self, old: Task | None, new: Task | None) -> None:
        """Note a task in the place of an older state of it; None stands for its absence."""
        if old is not None and self._with_device_claims.pop(old.id, None) is not None:
            self._sorted_with_device_claims = None
        if new is not None and new.job is not None and new.pod.spec.resource_claims:
            self._with_device_claims[new.id] = new
            self._sorted_with_device_claims = None

    def with_device_claims(self) -> tuple[Task, ...]:
        """Return the tasks of jobs that name resource claims, in the order of their names."""
        if self._sorted_with_device_claims is None:
            self._sorted_with_device_claims = tuple(sorted(self._with_device_claims.values(), key=by_name))
        return self._sorted_with_device_claims

    def orphan_tasks(self) -> Iterator[tuple[Task, Refusal]]:
        """Yield the tasks of orphans in the order of their names, each with its reason."""
        for task in sorted((self.tasks[each] for each in self.orphans), key=by_name):
            yield task, self.orphans[task.id]

    def of_claims(self, claims: Iterable[str]) -> list[TaskId]:
        """Return the pods that use any of these volume claims, named `namespace/name`."""
        return self._by_claim.users(claims)

    def of_device_claim(self, claim: str) -> list[TaskId]:
        """Return the pods that use a resource claim, named `namespace/name`."""
        return self._by_device_claim.users([claim])

    def claims(self) -> list[str]:
        """Return all volume claims that pods use, named `namespace/name`."""
        return self._by_claim.used()


class PodsOfServer(Mapping[TaskId, wire.Pod]):
    """The pods of the API server: a live view that copies nothing, because it is read for each bind and condition."""

    def __init__(self, store: PodStore, others: Container[TaskId]) -> None:
        """Show the pods of a store, except for `others`, which stand for objects of other kinds."""
        self._store, self._others = store, others

    def __getitem__(self, task_id: TaskId) -> wire.Pod:
        """Return a pod by its UID.

        Raises:
            KeyError: There is no such pod.
        """
        if task_id in self._others:
            raise KeyError(task_id)
        return self._store.objects[task_id]

    def __iter__(self) -> Iterator[TaskId]:
        """Iterate over the UIDs."""
        return (each for each in self._store.objects if each not in self._others)

    def __len__(self) -> int:
        """Return the number of pods."""
        return sum(1 for _ in self)
