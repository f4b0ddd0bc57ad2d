"""Endpoints of elastic quotas, with the paths of Koordinator's service API.

The figures are those of the last cycle, which also go into the status of the ElasticQuota.
"""

from collections import defaultdict
from typing import Any

from pyroclast.framework.extension.contract import EndpointRequest
from pyroclast.model.elastic import Belonging, ParsedQuota
from pyroclast.model.elastic.uses import claim_of, counts
from pyroclast.model.ids import TaskId
from pyroclast.model.report import QuotaFigures
from pyroclast.model.requests import resource_list
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["QuotaEndpoints"]


class QuotaEndpoints:
    """Answers requests about quotas; `includePods=true` in the query lists their pods."""

    def __init__(self, *, own_alone: bool) -> None:
        """Answer for a configuration; with `own_alone`, pods use quotas of their namespace alone."""
        self._own_alone = own_alone

    def quotas(self, request: EndpointRequest) -> dict[str, Any]:
        """Return all quotas by name, or with `tree` in the query those of a tree."""
        tree = request.query.get("tree")
        return {
            name: shown
            for name, shown in self._shown(request).items()
            if tree is None or request.snapshot.elastic_quotas[name].tree == tree
        }

    def quota(self, request: EndpointRequest) -> dict[str, Any] | None:
        """Return one quota; None for an unknown one."""
        return self._shown(request).get(request.parameters["name"])

    def _shown(self, request: EndpointRequest) -> dict[str, dict[str, Any]]:
        figures = {each.name: each for each in request.report.quotas}
        quotas = request.snapshot.elastic_quotas
        pods = self._pods(request) if request.query.get("includePods") == "true" else None
        return {
            name: {
                **_spec(quota),
                **(_figures(figures[name]) if name in figures else {}),
                **({} if pods is None else {"pods": sorted(pods[name])}),
            }
            for name, quota in quotas.items()
        }

    def _pods(self, request: EndpointRequest) -> dict[str, list[str]]:
        """Return the keys of the pods that have not ended, by quota."""
        belonging = Belonging(request.snapshot.elastic_quotas.values(), own_alone=self._own_alone)
        pods: dict[str, list[str]] = defaultdict(list)
        for task in _tasks(request.snapshot).values():
            if counts(task)[0]:
                claim = claim_of(task)
                pods[belonging.quota_of(claim.label, claim.namespace)].append(task.key)
        return pods


def _tasks(snapshot: Snapshot) -> dict[TaskId, Task]:
    """Return the tasks on nodes, those of jobs, and those without a job."""
    tasks = {each.task.id: each.task for each in snapshot.orphan_pods}
    for on_node in snapshot.nodes.tasks:
        tasks.update(on_node)
    for job in snapshot.jobs.values():
        tasks.update(job.tasks)
    return tasks


def _spec(quota: ParsedQuota) -> dict[str, Any]:
    return {
        "name": quota.name,
        "namespace": quota.namespace,
        "parentName": quota.parent,
        "isParent": quota.is_parent,
        "treeID": quota.tree,
        "allowLentResource": quota.lends,
        "min": resource_list(quota.minimum),
        "max": resource_list(quota.maximum),
        "sharedWeight": resource_list(quota.weight),
        "fault": quota.fault,
    }


def _figures(figures: QuotaFigures) -> dict[str, Any]:
    return {
        "used": resource_list(figures.used),
        "runtime": resource_list(figures.runtime),
        "request": resource_list(figures.request),
        "childRequest": resource_list(figures.child_request),
        "guarantee": resource_list(figures.guaranteed),
        "allocated": resource_list(figures.allocated),
        "nonPreemptibleRequest": resource_list(figures.non_preemptible_request),
        "nonPreemptibleUsed": resource_list(figures.non_preemptible_used),
    }
