"""Handlers: the rules of each admission path, and their inputs.

====================  ==================================  =======================
path                  resource                            operations
====================  ==================================  =======================
/jobs/mutate          jobs.batch.volcano.sh               CREATE
/jobs/validate        jobs.batch.volcano.sh               CREATE, UPDATE
/podgroups/mutate     podgroups.scheduling.volcano.sh     CREATE
/podgroups/validate   podgroups.scheduling.volcano.sh     CREATE
/queues/mutate        queues.scheduling.volcano.sh        CREATE
/queues/validate      queues.scheduling.volcano.sh        CREATE, UPDATE, DELETE
/pods/mutate          pods                                CREATE
/pods/validate        pods                                CREATE, UPDATE
/hypernodes/validate  hypernodes.topology.volcano.sh      CREATE, UPDATE
/cronjobs/validate    cronjobs.batch.volcano.sh           CREATE, UPDATE
/jobflows/validate    jobflows.flow.volcano.sh            CREATE, UPDATE
/elasticquotas/mutate elasticquotas.scheduling.sigs.…     CREATE
/elasticquotas/…      elasticquotas.scheduling.sigs.…     CREATE, UPDATE, DELETE
====================  ==================================  =======================

The paths are Volcano's. Volcano has none for ElasticQuotas.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.patches import Patch
from pyroclast.controllers.admission.resource_groups import ResourceGroup
from pyroclast.controllers.admission.reviews import AdmissionVerdict, Review
from pyroclast.controllers.admission.rules import (
    cronjobs,
    elastic_quotas,
    hypernodes,
    jobflows,
    jobs,
    podgroups,
    pods,
    queues,
)
from pyroclast.controllers.admission.rules.queues import QueueLimits
from pyroclast.model import wire
from pyroclast.model.api.meta import LabelSelector
from pyroclast.model.api.names import BATCH, DEFAULT_SCHEDULER, ELASTIC_QUOTAS, FLOW, SCHEDULING, TOPOLOGY

__all__ = ["SERVICES", "AdmissionPolicy", "KnownCluster", "WebhookService", "review_object"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """Settings of the operator."""

    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    """Names of our schedulers. Jobs without a scheduler get the first."""
    queue_limits: QueueLimits = field(default_factory=QueueLimits)
    resource_groups: tuple[ResourceGroup, ...] = ()
    gates_pods: bool = False
    """Add a scheduling gate to pods that request it. The gate is removed when their queue admits them."""
    allows_node_name: bool = False
    """New pods of our schedulers may have `nodeName`."""
    checks_quota_labels: bool = False
    """New pods of our schedulers may only name elastic quotas that serve their namespace."""
    guarantees_use: bool = False
    """Quotas above an elastic quota must cover its guarantee, which includes what its pods use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCluster:
    """Cluster objects that the rules read."""

    lookups: Lookups | None = None
    """Queues. If they cannot be read, this is None, and rules about queues are skipped."""
    quotas: Sequence[wire.ElasticQuota] | None = None
    """All elastic quotas, None if they cannot be read."""
    tree_nodes: LabelSelector | None = None
    """Node selector of the quota tree of the reviewed pod, None if the pod is in no tree."""
    namespace_annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of the reviewed object's namespace."""


Object = Mapping[str, Any]
Mutation = Callable[[Object, Review, AdmissionPolicy, KnownCluster], list[Patch]]
Validation = Callable[[Review, AdmissionPolicy, KnownCluster], tuple[Fault, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookService:
    """Webhook behind one path."""

    path: str
    api_version: str
    resource: str
    operations: tuple[str, ...]
    mutation: Mutation | None = None
    validation: Validation | None = None
    warnings: Callable[[Object], tuple[str, ...]] | None = None
    """Returns the warnings for an object that is allowed."""
    reads_queues: bool = False
    reads_quotas: bool = False
    reads_trees: bool = False
    reads_namespace: bool = False
    counts_pods: bool = False
    """Whether accepted pods are counted in their elastic quotas, where the operator enables that."""

    @property
    def group(self) -> str:
        """Group of the resource; empty for the core group."""
        return self.api_version.rpartition("/")[0]


_UNREAD: Final = "the queues could not be read; rules about queues were not checked, the controllers will"
_UNREAD_QUOTAS: Final = "the other quotas could not be read; rules about them were not checked, the scheduler will"


def review_object(
    service: WebhookService, review: Review, policy: AdmissionPolicy, known: KnownCluster
) -> AdmissionVerdict:
    """Answer one review. Objects that the service does not handle are allowed."""
    resource = review.resource
    is_ours = (resource.group, resource.resource) == (service.group, service.resource) and not review.sub_resource
    if not is_ours or review.operation not in service.operations:
        return AdmissionVerdict()
    if review.operation != "DELETE" and not isinstance(review.object, Mapping):
        return AdmissionVerdict(faults=(Fault(field="(whole object)", value=review.object, rule="is no object"),))
    try:
        if service.mutation is not None:
            return AdmissionVerdict(patches=service.mutation(review.object, review, policy, known))
        faults = service.validation(review, policy, known) if service.validation is not None else ()
    except RecursionError:
        return AdmissionVerdict(faults=(Fault(field="(whole object)", rule="is nested too deeply"),))
    warnings = service.warnings(review.object) if service.warnings is not None and not faults else ()
    unread = [_UNREAD] if service.reads_queues and known.lookups is None else []
    reads_quotas = service.reads_quotas and (service.resource != "pods" or policy.checks_quota_labels)
    unread += [_UNREAD_QUOTAS] if reads_quotas and known.quotas is None else []
    return AdmissionVerdict(faults=faults, warnings=(*unread, *warnings))


def _old(review: Review) -> Object | None:
    return review.old_object if review.operation == "UPDATE" and isinstance(review.old_object, Mapping) else None


def _mutated_job(job: Object, _review: Review, policy: AdmissionPolicy, _known: KnownCluster) -> list[Patch]:
    return jobs.defaulted(job, scheduler_name=policy.scheduler_names[0])


def _mutated_pod_group(
    pod_group: Object, _review: Review, _policy: AdmissionPolicy, known: KnownCluster
) -> list[Patch]:
    return podgroups.defaulted(pod_group, known.namespace_annotations)


def _mutated_queue(queue: Object, _review: Review, _policy: AdmissionPolicy, _known: KnownCluster) -> list[Patch]:
    return queues.defaulted(queue)


def _mutated_quota(quota: Object, _review: Review, _policy: AdmissionPolicy, known: KnownCluster) -> list[Patch]:
    return elastic_quotas.defaulted(quota, known.quotas)


def _mutated_pod(pod: Object, review: Review, policy: AdmissionPolicy, known: KnownCluster) -> list[Patch]:
    return pods.defaulted(
        pod,
        namespace=review.namespace,
        groups=policy.resource_groups,
        gates_pods=policy.gates_pods,
        scheduler_names=policy.scheduler_names,
        tree_nodes=known.tree_nodes,
    )


def _queue_faults(review: Review, policy: AdmissionPolicy, known: KnownCluster) -> tuple[Fault, ...]:
    if review.operation == "DELETE":
        return () if known.lookups is None else queues.deletion_faults(review.name, known.lookups, policy.queue_limits)
    return queues.faults_of(review.object, _old(review), known.lookups, policy.queue_limits)


def _quota_faults(review: Review, policy: AdmissionPolicy, known: KnownCluster) -> tuple[Fault, ...]:
    if review.operation == "DELETE":
        return elastic_quotas.faults_of_deletion(review.namespace, review.name, known.quotas or ())
    guarantees_use = policy.guarantees_use
    return elastic_quotas.faults_of(review.object, _old(review), known.quotas, guarantees_use=guarantees_use)


def _pod_faults(review: Review, policy: AdmissionPolicy, known: KnownCluster) -> tuple[Fault, ...]:
    return pods.faults_of(
        review.object,
        _old(review),
        namespace=review.namespace,
        scheduler_names=policy.scheduler_names,
        allows_node_name=policy.allows_node_name,
        quotas=known.quotas if policy.checks_quota_labels else None,
    )


def _by(faults_of: Callable[..., tuple[Fault, ...]]) -> Validation:
    """Adapt rules that take only the object, the old object and the lookups."""
    return lambda review, _policy, known: faults_of(review.object, _old(review), known.lookups)


_CREATE: Final = ("CREATE",)
_CHANGES: Final = ("CREATE", "UPDATE")
_ALL: Final = (*_CHANGES, "DELETE")


def _mutates(api_version: str, resource: str, mutation: Mutation, **reads: Any) -> WebhookService:
    return WebhookService(
        path=f"/{resource}/mutate",
        api_version=api_version,
        resource=resource,
        operations=_CREATE,
        mutation=mutation,
        **reads,
    )


def _validates(
    api_version: str, resource: str, operations: tuple[str, ...], validation: Validation, **more: Any
) -> WebhookService:
    return WebhookService(
        path=f"/{resource}/validate",
        api_version=api_version,
        resource=resource,
        operations=operations,
        validation=validation,
        **more,
    )


SERVICES: Final[Mapping[str, WebhookService]] = {
    service.path: service
    for service in (
        _mutates(BATCH, "jobs", _mutated_job),
        _validates(BATCH, "jobs", _CHANGES, _by(jobs.faults_of), warnings=jobs.warnings_of, reads_queues=True),
        _mutates(SCHEDULING, "podgroups", _mutated_pod_group, reads_namespace=True),
        _validates(
            SCHEDULING,
            "podgroups",
            _CREATE,
            _by(podgroups.faults_of),
            warnings=podgroups.warnings_of,
            reads_queues=True,
        ),
        _mutates(SCHEDULING, "queues", _mutated_queue),
        _validates(SCHEDULING, "queues", _ALL, _queue_faults, reads_queues=True),
        _mutates("v1", "pods", _mutated_pod, reads_trees=True),
        _validates("v1", "pods", _CHANGES, _pod_faults, reads_quotas=True, counts_pods=True),
        _validates(TOPOLOGY, "hypernodes", _CHANGES, _by(hypernodes.faults_of), warnings=hypernodes.warnings_of),
        _validates(BATCH, "cronjobs", _CHANGES, _by(cronjobs.faults_of)),
        _validates(FLOW, "jobflows", _CHANGES, _by(jobflows.faults_of), warnings=jobflows.warnings_of),
        _mutates(ELASTIC_QUOTAS, "elasticquotas", _mutated_quota, reads_quotas=True),
        _validates(ELASTIC_QUOTAS, "elasticquotas", _ALL, _quota_faults, reads_quotas=True),
    )
}
"""The services by path; other paths are not found."""
