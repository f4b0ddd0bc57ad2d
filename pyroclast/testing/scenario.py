"""Scenario: a cluster in a few lines. Every step returns a new scenario, so bases can be shared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from pyroclast.framework.extension.outside import Outside
from pyroclast.model.api.names import GROUP_NAME, TASK_SPEC
from pyroclast.testing.configuration import PluginChoice
from pyroclast.testing.objects import NAMESPACE, Quantity, amounts, made, merged
from pyroclast.testing.outcome import Outcome
from pyroclast.testing.runner import run

__all__ = ["Scenario"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A cluster for which cycles decide."""

    objects: tuple[Mapping[str, Any], ...] = ()
    """Kubernetes objects in the order of creation; each is a minute younger than the previous one."""
    shard_mode: str = "none"
    shard: str = "volcano"
    """Mode of sharding, and the NodeShard of this scheduler; see `sharded`."""

    def queue(
        self,
        name: str,
        *,
        weight: int = 1,
        priority: int = 0,
        capability: Mapping[str, Quantity] | None = None,
        guarantee: Mapping[str, Quantity] | None = None,
        deserved: Mapping[str, Quantity] | None = None,
        parent: str = "",
        reclaimable: bool = True,
        state: str = "Open",
        annotations: Mapping[str, str] | None = None,
    ) -> Self:
        """Add a queue. A queue that a job names and no step adds is created with weight 1."""
        spec: dict[str, Any] = {"weight": weight, "priority": priority, "reclaimable": reclaimable}
        spec |= {"capability": capability, "deserved": deserved, "parent": parent or None}
        if guarantee is not None:
            spec["guarantee"] = {"resource": guarantee}
        return self._with(
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": self._metadata(name, None, annotations=annotations),
                "spec": spec,
                "status": {"state": state},
            }
        )

    def node(
        self,
        name: str,
        *,
        cpu: Quantity = 8,
        memory: Quantity = "32Gi",
        gpu: Quantity | None = None,
        pods: int = 110,
        resources: Mapping[str, Quantity] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        unschedulable: bool = False,
        annotations: Mapping[str, str] | None = None,
    ) -> Self:
        """Add a node; its hostname label is its name."""
        offered = {**amounts(cpu, memory, gpu, resources), "pods": pods}
        return self._with(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": self._metadata(
                    name, None, labels={"kubernetes.io/hostname": name, **(labels or {})}, annotations=annotations
                ),
                "spec": {"taints": list(taints), "unschedulable": unschedulable},
                "status": {
                    "allocatable": offered,
                    "capacity": offered,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
        )

    def priority_class(self, name: str, value: int, *, global_default: bool = False, policy: str = "") -> Self:
        """Add a priority class; `policy` is its preemption policy."""
        return self._with(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": self._metadata(name, None),
                "value": value,
                "globalDefault": global_default,
                "preemptionPolicy": policy or None,
            }
        )

    def job(
        self,
        name: str,
        *,
        tasks: int = 1,
        queue: str = "default",
        min_available: int | None = None,
        cpu: Quantity | None = 1,
        memory: Quantity | None = None,
        gpu: Quantity | None = None,
        resources: Mapping[str, Quantity] | None = None,
        running_on: Sequence[str] = (),
        priority: int = 0,
        priority_class: str = "",
        min_resources: Mapping[str, Quantity] | None = None,
        role: str = "",
        min_by_role: Mapping[str, int] | None = None,
        phase: str = "",
        namespace: str = NAMESPACE,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        group: Mapping[str, Any] | None = None,
        pod: Mapping[str, Any] | None = None,
    ) -> Self:
        """Add a PodGroup and its pods, called `<name>-0` and on.

        Args:
            name: Name of the group.
            tasks: Number of pods.
            queue: Queue of the group.
            min_available: Minimum of the group; all tasks if None, so that it is a gang.
            cpu: Request of each pod, like `memory`, `gpu` and `resources`; None for none.
            memory: See `cpu`.
            gpu: See `cpu`.
            resources: Further requests by name.
            running_on: Nodes on which the first pods already run.
            priority: Priority of the pods.
            priority_class: Priority class of the group.
            min_resources: Minimum resources of the group, for its admission to the queue.
            role: Role of the pods (`volcano.sh/task-spec`).
            min_by_role: Minimum by role.
            phase: Phase of the group; if empty, `Running` if some pods run, else `Pending`.
            namespace: Namespace of the group and its pods.
            labels: Labels of the pods.
            annotations: Annotations of the group and of the pods.
            group: Merged into the `spec` of the PodGroup.
            pod: Merged into the `spec` of each pod.
        """
        spec = {
            "minMember": tasks if min_available is None else min_available,
            "queue": queue,
            "priorityClassName": priority_class,
            "minTaskMember": min_by_role or {},
            "minResources": min_resources,
        }
        scenario = self._with(
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": self._metadata(name, namespace, annotations=annotations),
                "spec": merged(spec, group),
                "status": {"phase": phase or ("Running" if running_on else "Pending")},
            }
        )
        for number in range(tasks):
            scenario = scenario.pod(
                f"{name}-{number}",
                job=name,
                cpu=cpu,
                memory=memory,
                gpu=gpu,
                resources=resources,
                node=running_on[number] if number < len(running_on) else "",
                priority=priority,
                role=role,
                namespace=namespace,
                labels=labels,
                annotations=annotations,
                spec=pod,
            )
        return scenario

    def running(self, name: str, *, on: Sequence[str], min_available: int = 1, **more: Any) -> Self:
        """Add a job whose pods all run, one on each of the given nodes (a node may be named several times).

        Args:
            name: Name of the group.
            on: Nodes of its pods.
            min_available: Minimum of the group.
            **more: As for `job`.
        """
        return self.job(name, tasks=len(on), running_on=on, min_available=min_available, **more)

    def pod(
        self,
        name: str,
        *,
        job: str = "",
        node: str = "",
        phase: str = "",
        cpu: Quantity | None = 1,
        memory: Quantity | None = None,
        gpu: Quantity | None = None,
        resources: Mapping[str, Quantity] | None = None,
        priority: int = 0,
        role: str = "",
        scheduler: str = "volcano",
        namespace: str = NAMESPACE,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> Self:
        """Add a pod with or without a job, on a node or pending; `spec` is merged into its specification."""
        own_labels = {**({TASK_SPEC: role} if role else {}), **(labels or {})}
        own_annotations = {
            **(annotations or {}),
            **({GROUP_NAME: job} if job else {}),
            **({TASK_SPEC: role} if role else {}),
        }
        base = {
            "schedulerName": scheduler,
            "nodeName": node,
            "priority": priority,
            "containers": [
                {
                    "name": "main",
                    "image": "app:1",
                    "resources": {"requests": amounts(cpu, memory, gpu, resources)},
                }
            ],
        }
        return self._with(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": self._metadata(name, namespace, labels=own_labels, annotations=own_annotations),
                "spec": merged(base, spec),
                "status": {"phase": phase or ("Running" if node else "Pending")},
            }
        )

    def add(self, *objects: Mapping[str, Any]) -> Self:
        """Add Kubernetes objects unchanged, with their `kind`: volumes, claims, quotas, HyperNodes, ..."""
        return replace(self, objects=(*self.objects, *objects))

    def sharded(self, mode: str, *nodes: str) -> Self:
        """Share the cluster with other schedulers: mode `hard` or `soft`, with these nodes for this scheduler."""
        shard = {"kind": "NodeShard", "metadata": {"name": self.shard}, "spec": {"nodesDesired": list(nodes)}}
        return replace(self.add(shard), shard_mode=mode)

    def run(
        self,
        *actions: str,
        plugins: Sequence[PluginChoice] = (),
        cycles: int = 1,
        seed: int = 0,
        now: float | None = None,
        arguments: Mapping[str, Mapping[str, Any]] | None = None,
        recreate_evicted: bool = False,
        later: Mapping[int, "Scenario"] | None = None,
        outside: Mapping[str, Outside] | None = None,
    ) -> Outcome:
        """Run cycles and return their decisions.

        Args:
            *actions: Names of the actions of a cycle, in order.
            plugins: Each a name, a plugin's class, a plugin, or an entry of the configuration file whose `name` is one
                of these (`{"name": "drf", "enableHierarchy": True}`). Each sequence of these makes a tier; all others
                together make one tier.
            cycles: Number of cycles. Between two cycles bound pods start, evicted ones are removed, and a second
            passes.
            seed: Seed of all random choices.
            now: Time of the first cycle, seconds since 1970; if None, long after the creation of all objects.
            arguments: Arguments by plugin and by action.
            recreate_evicted: Whether evicted pods are created again, pending.
            later: For each cycle number, this scenario with the objects that are created before that cycle.
            outside: Answers to requests of plugins to services outside the cluster, by plugin instance.

        Raises:
            ConfigError: A plugin or an action is unknown, or an argument cannot be used.
        """
        return run(
            self.objects,
            actions=actions,
            plugins=plugins,
            arguments=arguments or {},
            cycles=cycles,
            seed=seed,
            now=now,
            recreate_evicted=recreate_evicted,
            shard_mode=self.shard_mode,
            shard=self.shard,
            arrivals={cycle: grown.objects[len(self.objects) :] for cycle, grown in (later or {}).items()},
            outside=outside or {},
        )

    def _metadata(
        self,
        name: str,
        namespace: str | None,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": name, "creationTimestamp": made(len(self.objects))}
        if namespace is not None:
            metadata["namespace"] = namespace
        return {**metadata, "labels": dict(labels or {}), "annotations": dict(annotations or {})}

    def _with(self, each: Mapping[str, Any]) -> Self:
        return replace(self, objects=(*self.objects, each))
