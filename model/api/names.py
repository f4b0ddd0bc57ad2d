"""Labels, annotations and fixed names that the parts of a batch system agree on.

Each stands once; who reads or writes it is said beside it. Spelled as Volcano spells them.
"""

from typing import Final

# --- groups and versions ---------------------------------------------------------------------------------------------

BATCH: Final = "batch.volcano.sh/v1alpha1"
BUS: Final = "bus.volcano.sh/v1alpha1"
ELASTIC_QUOTA_PROFILES: Final = "quota.koordinator.sh/v1alpha1"
DEVICES: Final = "scheduling.koordinator.sh/v1alpha1"
ELASTIC_QUOTAS: Final = "scheduling.sigs.k8s.io/v1alpha1"
FLOW: Final = "flow.volcano.sh/v1alpha1"
NODE_INFO: Final = "nodeinfo.volcano.sh/v1alpha1"
RESERVATIONS: Final = "scheduling.koordinator.sh/v1alpha1"
SCHEDULING: Final = "scheduling.volcano.sh/v1beta1"
SHARD: Final = "shard.volcano.sh/v1alpha1"
TOPOLOGY: Final = "topology.volcano.sh/v1alpha1"

# --- fixed names -----------------------------------------------------------------------------------------------------

DEFAULT_SCHEDULER: Final = "volcano"
DEFAULT_QUEUE: Final = "default"
ROOT_QUEUE: Final = "root"
SYSTEM_NAMESPACE: Final = "volcano-system"
DEFAULT_TASK: Final = "default"
"""Name of a task that has none; a new one gets its number behind it."""

# --- groups of pods --------------------------------------------------------------------------------------------------

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
"""On a pod: its pod group; the only key by which the scheduler groups pods."""
GROUP_MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"
"""On a workload: gang size of the pod group made for it."""
POD_QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"
"""On a pod or namespace: queue of the pod group made for it."""
JOB_QUEUE: Final = "scheduling.pyroclast.io/job-queue"
"""On the pod group of a Job: the queue of the Job that was last applied to the group."""
LENT: Final = "scheduling.pyroclast.io/lent"
"""On a pod, `true`: it was bound on capacity beyond its queue's share, which reclaim takes back first."""
QUEUE_ALLOCATION_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"
"""On a pod, `true`: hold it by a scheduling gate of the same name until its queue has capacity for it."""

# --- pods of jobs ----------------------------------------------------------------------------------------------------

TASK_SPEC: Final = "volcano.sh/task-spec"
"""Annotation and label of a pod: name of its task (role)."""
TASK_INDEX: Final = "volcano.sh/task-index"
"""Annotation and label of a pod: its index inside the task."""
JOB_NAME: Final = "volcano.sh/job-name"
"""Label and annotation of a pod: its job."""
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"
"""Label of a pod: namespace of its job."""
JOB_TYPE: Final = "volcano.sh/job-type"
"""Label of a service that a job plugin made."""
QUEUE_NAME: Final = "volcano.sh/queue-name"
"""Annotation and label of a pod: queue of its job."""
JOB_VERSION: Final = "volcano.sh/job-version"
"""Annotation of a pod: `status.version` of the job when it was made."""
JOB_RETRY_COUNT: Final = "volcano.sh/job-retry-count"
"""Annotation of a pod: `status.retryCount` of the job when it was made."""
TEMPLATE_UID: Final = "volcano.sh/template-uid"
"""Annotation of a pod: `<job>-<task>`, pods of one template."""
PARTITION_ID: Final = "volcano.sh/partition-id"
"""Label of a pod: number of its partition."""
TASK_PRIORITY: Final = "volcano.sh/task-priority"
"""Annotation of a pod: overrides its priority inside the job."""
OUT_OF_SYNC: Final = "volcano.sh/controller-out-of-sync"
"""Annotation of a pod, `true`: its job is restarting it; what happens to it triggers no policy."""

# --- how pods are treated --------------------------------------------------------------------------------------------

PREEMPTABLE: Final = "volcano.sh/preemptable"
"""Annotation or label, a boolean: may be evicted for others."""
DISABLE_PREEMPTIBLE: Final = "scheduling.koordinator.sh/disable-preemptible"
"""Koordinator's label of a pod, `true`: never evicted for others."""
COOLDOWN_TIME: Final = "volcano.sh/cooldown-time"
"""Annotation or label, a duration: not evicted for so long after the start."""
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"
"""Annotation, `*` or empty: may use nodes that are taken back at set times."""
MIN_AVAILABLE: Final = "volcano.sh/jdb-min-available"
"""Annotation, a count or percentage: members that evictions leave; excludes `MAX_UNAVAILABLE`."""
MAX_UNAVAILABLE: Final = "volcano.sh/jdb-max-unavailable"
"""Annotation, a count or percentage: members that evictions may take; excludes `MIN_AVAILABLE`."""
NUMA_TOPOLOGY_POLICY: Final = "volcano.sh/numa-topology-policy"
"""Annotation of a pod: alignment that its node must give it."""
SLA_WAITING_TIME: Final = "volcano.sh/sla-waiting-time"
"""Annotation of a pod group, a duration: longest time it should wait."""
NETWORK_TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"
"""Annotation of a pod: `mode` of the network topology of the pod group made for it."""
NETWORK_TOPOLOGY_HIGHEST_TIER: Final = "volcano.sh/network-topology-highest-tier"
"""Annotation of a pod: highest tier of the network topology of the pod group made for it."""
INHERITED_PREFIX: Final = "volcano.sh/"
"""Annotations of a workload with this prefix pass to the pod group made for it."""
ALLOCATED_HYPER_NODE: Final = "volcano.sh/job-allocated-hypernode"
"""Annotation of a pod group, the scheduler's: the innermost domain around its placed tasks; placing never reads it."""

# --- queues ----------------------------------------------------------------------------------------------------------

HIERARCHY: Final = "volcano.sh/hierarchy"
"""Annotation of a queue: its path in the tree of hierarchical drf, by `/`."""
HIERARCHY_WEIGHTS: Final = "volcano.sh/hierarchy-weights"
"""Annotation of a queue: weights along that path, by `/`."""
CLOSED_BY_PARENT: Final = "volcano.sh/closed-by-parent"
"""Annotation of a queue, `true` or `false`: it was closed because its parent was."""

# --- jobs made by others ---------------------------------------------------------------------------------------------

CREATED_BY_JOB_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"
"""Label and annotation of a job: `<namespace>.<name>` of its JobTemplate."""
CREATED_BY_JOB_FLOW: Final = "volcano.sh/createdByJobFlow"
"""Label and annotation of a job: `<namespace>.<name>` of its JobFlow."""
CRON_JOB_SCHEDULED_TIMESTAMP: Final = "volcano.sh/cronjob-scheduled-timestamp"
"""Annotation of a job: the time it was due, as in RFC 3339."""
JOB_FORWARDING: Final = "volcano.sh/job-forwarding"
"""Annotation of a job or pod: it may be forwarded to another cluster."""

# --- hypernodes ------------------------------------------------------------------------------------------------------

NETWORK_TOPOLOGY_SOURCE: Final = "volcano.sh/network-topology-source"
"""Label of a hypernode: who discovered it."""
