"""Options of the controllers' process: flags of Volcano's controller manager and webhook manager, and additional ones.

A flag without a meaning here is accepted with a warning; `WITHOUT_EFFECT` lists it with the reason. A test keeps
docs/controllers/flags.md equal to this file.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from pyroclast.controllers.admission.options import DEFAULT_PATHS, AdmissionOptions
from pyroclast.controllers.runtime.options import DEFAULT_SHARDS, ControllerOptions
from pyroclast.controllers.sharding.settings import read_flags
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli import flags
from pyroclast.scheduler.cli.environment import SOCKET_FOLDER, socket_folder
from pyroclast.scheduler.cli.features import read_gates
from pyroclast.scheduler.cli.flags import FlagKind, flag
from pyroclast.scheduler.cli.options import WITHOUT_EFFECT as OF_THE_SCHEDULER
from pyroclast.scheduler.cli.process_options import ParsedOptions, ProcessOptions, process_faults, process_warnings
from pyroclast.scheduler.controllers.table import chosen

__all__ = ["WITHOUT_EFFECT", "Options", "parse_options"]

_DEFAULTS: Final[Mapping[str, Any]] = {field.name: field.default for field in fields(AdmissionOptions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ProcessOptions):
    """Options from the command line."""

    listen_address: str = flag(FlagKind.TEXT, ":8081", "Address of /metrics.")
    leader_elect_resource_name: str = flag(FlagKind.TEXT, "vc-controller-manager", "Name of the lease.")
    scheduler_name: tuple[str, ...] = flag(
        FlagKind.REPEAT,
        ("volcano",),
        "Pods with this schedulerName are grouped; may be repeated. Jobs that name none get the first.",
    )
    default_queue: str = flag(FlagKind.TEXT, "default", "Queue of pods and jobs that name none.")
    controllers: tuple[str, ...] = flag(
        FlagKind.LIST,
        ("*", "-sharding-controller"),
        "Controllers to run: `*` for all, `-*` for none but those named, `name` or `+name` for one, "
        "`-name` for all but one.",
    )
    inherit_owner_annotations: bool = flag(
        FlagKind.BOOLEAN, default=True, help="Pod groups inherit size and annotations from the owners of their pods."
    )
    topology_discovery: str = flag(
        FlagKind.TEXT,
        "volcano-system/volcano-controller-configmap",
        "ConfigMap, as namespace/name, with the discovery settings of HyperNodes.",
    )
    quota_group_namespace: str = flag(
        FlagKind.TEXT, "volcano-system", "Namespace of the built-in elastic quotas: root, system and default."
    )
    sharding_configmap: str = flag(
        FlagKind.TEXT, "volcano-sharding-configmap", "ConfigMap with the settings of sharding; empty: none is read."
    )
    sharding_configmap_namespace: str = flag(FlagKind.TEXT, "volcano-system", "Namespace of that ConfigMap.")
    scheduler_configs: tuple[str, ...] = flag(
        FlagKind.LIST,
        DEFAULT_SHARDS,
        "Shards without that ConfigMap: name:type:min-cpu:max-cpu:prefer-warmup:min-nodes:max-nodes.",
    )
    shard_sync_period: float = flag(FlagKind.DURATION, 60.0, "Time between two assignments of nodes to shards.")
    enable_node_event_trigger: bool = flag(
        FlagKind.BOOLEAN, default=True, help="Changes of nodes are followed at once by the shards."
    )
    rerun_succeeded_pods: bool = flag(
        FlagKind.BOOLEAN,
        default=False,
        help="Recreate deleted pods of Jobs that had ended, and count them as evicted, as Volcano does.",
    )
    reservation_gc_duration: float = flag(
        FlagKind.DURATION, 86400.0, "Time after which Reservations that have ended are deleted; 0 keeps them."
    )
    worker_threads: int = flag(FlagKind.WHOLE, 3, "Jobs reconciled concurrently.")
    worker_threads_for_cronjob: int = flag(FlagKind.WHOLE, 3, "CronJobs reconciled concurrently.")
    worker_threads_for_podgroup: int = flag(FlagKind.WHOLE, 5, "Pods reconciled concurrently.")
    worker_threads_for_queue: int = flag(FlagKind.WHOLE, 5, "Queues reconciled concurrently.")
    worker_threads_for_gc: int = flag(FlagKind.WHOLE, 1, "Finished Jobs deleted concurrently.")
    enable_admission: bool = flag(FlagKind.BOOLEAN, default=False, help="Answer admission requests too.")
    admission_address: str = flag(FlagKind.TEXT, _DEFAULTS["address"], "Address of the webhooks.")
    enabled_admission: tuple[str, ...] = flag(FlagKind.LIST, DEFAULT_PATHS, "Webhooks that are served, by path.")
    admission_conf: str = flag(
        FlagKind.TEXT, "", "File of resource groups for pods, read again when it changes; empty: none."
    )
    admission_tls_cert_file: str = flag(
        FlagKind.TEXT, "", "Certificate of the webhooks, PEM, read again when it changes; empty: generated."
    )
    admission_tls_private_key_file: str = flag(FlagKind.TEXT, "", "Private key of that certificate, PEM.")
    admission_ca_cert_file: str = flag(FlagKind.TEXT, "", "Authority of that certificate, PEM.")
    admission_client_ca_file: str = flag(
        FlagKind.TEXT,
        "",
        "Authority of clients of the webhooks, PEM, read again when it changes; empty: any client may ask.",
    )
    admission_client_names: tuple[str, ...] = flag(
        FlagKind.LIST, (), "Permitted names in a client's certificate; empty: any certificate of that authority."
    )
    admission_secret: str = flag(
        FlagKind.TEXT, _DEFAULTS["secret"], "Secret with which replicas share generated certificates."
    )
    admission_configuration: str = flag(
        FlagKind.TEXT,
        _DEFAULTS["configuration"],
        "Webhook configurations whose caBundle is kept up to date; empty: none.",
    )
    webhook_namespace: str = flag(FlagKind.TEXT, _DEFAULTS["namespace"], "Namespace of service and Secret.")
    webhook_service_name: str = flag(FlagKind.TEXT, _DEFAULTS["service"], "Service of the webhooks.")
    webhook_url: tuple[str, ...] = flag(FlagKind.LIST, (), "Additional names or addresses of generated certificates.")
    max_queue_depth: int = flag(
        FlagKind.WHOLE, _DEFAULTS["max_queue_depth"], "Maximum depth of the queue tree below the root."
    )
    enable_root_queue_protection: bool = flag(
        FlagKind.BOOLEAN, default=True, help="Amounts of the root queue may not be changed."
    )
    enable_queue_allocated_pods_check: bool = flag(
        FlagKind.BOOLEAN, default=False, help="A queue with allocated pods may not be deleted."
    )
    admission_check_quota_labels: bool = flag(
        FlagKind.BOOLEAN,
        default=False,
        help="New pods of our schedulers may name only an ElasticQuota of their namespace, or one that lists it.",
    )
    admission_allow_node_name: bool = flag(
        FlagKind.BOOLEAN, default=False, help="New pods of our schedulers may name their node."
    )

    debug_socket_folder: str = SOCKET_FOLDER
    """`DEBUG_SOCKET_DIR`: folder of the socket that changes the log verbosity."""

    @property
    def chosen(self) -> list[str]:
        """Names of the controllers to run. A disabled feature gate removes its controller."""
        gates = {"job-controller": "VolcanoJobSupport", "cronjob-controller": "CronVolcanoJobSupport"}
        names, _, _ = chosen(self.controllers)
        return [name for name in names if name not in gates or self.features.enabled(gates[name])]

    @property
    def of_controllers(self) -> ControllerOptions:
        """Options of the controllers."""
        namespace, _, name = self.topology_discovery.partition("/")
        return ControllerOptions(
            scheduler_names=self.scheduler_name,
            default_queue=self.default_queue,
            inherits_owner_annotations=self.inherit_owner_annotations,
            follows_workloads=self.features.enabled("WorkLoadSupport"),
            obeys_queue_commands=self.features.enabled("QueueCommandSync"),
            max_queue_depth=self.max_queue_depth,
            protects_root_queue=self.enable_root_queue_protection,
            discovery_config_map=(namespace, name),
            quota_namespace=self.quota_group_namespace,
            shards=self.scheduler_configs,
            sharding_config_map=(self.sharding_configmap_namespace, self.sharding_configmap),
            shard_period=self.shard_sync_period,
            shards_follow_nodes=self.enable_node_event_trigger,
            rerun_succeeded_pods=self.rerun_succeeded_pods,
            reservation_ttl=self.reservation_gc_duration or None,
            workers={
                "job": self.worker_threads,
                "cronjob": self.worker_threads_for_cronjob,
                "podgroup": self.worker_threads_for_podgroup,
                "queue": self.worker_threads_for_queue,
                "garbage": self.worker_threads_for_gc,
            },
        )

    @property
    def of_admission(self) -> AdmissionOptions:
        """Options of admission.

        Raises:
            ConfigError: The options have faults.
        """
        return AdmissionOptions(
            address=self.admission_address,
            paths=self.enabled_admission,
            scheduler_names=self.scheduler_name,
            namespace=self.webhook_namespace,
            service=self.webhook_service_name,
            extra_names=self.webhook_url,
            secret=self.admission_secret,
            configuration=self.admission_configuration,
            tls_cert_file=self.admission_tls_cert_file,
            tls_private_key_file=self.admission_tls_private_key_file,
            ca_cert_file=self.admission_ca_cert_file,
            client_ca_file=self.admission_client_ca_file,
            client_names=self.admission_client_names,
            resource_groups_file=self.admission_conf,
            max_queue_depth=self.max_queue_depth,
            protects_root_queue=self.enable_root_queue_protection,
            keeps_queues_in_use=self.enable_queue_allocated_pods_check,
            gates_pods=self.features.enabled("SchedulingGatesQueueAdmission"),
            allows_node_name=self.admission_allow_node_name,
            checks_quota_labels=self.admission_check_quota_labels,
            guarantees_use=self.features.enabled("ElasticQuotaGuaranteeUsage"),
            counts_quota_requests=self.features.enabled("EnableQuotaAdmission"),
        )


_LOGGING_AND_RATE: Final = (
    "kube-api-qps",
    "kube-api-burst",
    "log-flush-frequency",
    "add-dir-header",
    "alsologtostderr",
    "log-backtrace-at",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "logtostderr",
    "one-output",
    "skip-headers",
    "skip-log-headers",
    "stderrthreshold",
    "vmodule",
)
WITHOUT_EFFECT: Final[Mapping[str, tuple[FlagKind, str]]] = {
    "max-requeue-num": (FlagKind.TEXT, "there is no limit: failed work is retried with growing delays"),
    **{name: OF_THE_SCHEDULER[name] for name in _LOGGING_AND_RATE},
}
"""Flags of Volcano that are accepted without effect, by name, with the reason."""


def parse_options(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> ParsedOptions[Options]:
    """Parse flags, and the environment variable for the socket's folder.

    Raises:
        ConfigError: The flags have faults.
    """
    reading = flags.read(arguments, flags.flags_of(Options), {name: kind for name, (kind, _) in WITHOUT_EFFECT.items()})
    features, gate_warnings, gate_faults = read_gates(reading.values.get("feature_gates", ()))
    options = Options(**reading.values, features=features, debug_socket_folder=socket_folder(environment))
    _, table_warnings, table_faults = chosen(options.controllers)
    faults = [*reading.faults, *gate_faults, *table_faults, *_faults_of(options)]
    if faults:
        raise ConfigError(*faults)
    ignored = [f"--{name}: without effect: {WITHOUT_EFFECT[name][1]}" for name in dict.fromkeys(reading.ignored)]
    warnings = (*ignored, *gate_warnings, *table_warnings, *process_warnings(options))
    return ParsedOptions(options=options, warnings=warnings)


def _faults_of(options: Options) -> list[str]:
    """Return the faults of values and of their combinations."""
    faults = process_faults(options)
    if "" in options.scheduler_name or not options.scheduler_name:
        faults.append("--scheduler-name: got an empty name")
    if not options.quota_group_namespace:
        faults.append("--quota-group-namespace: got an empty name")
    faults.extend(f"--scheduler-configs: {fault}" for fault in read_flags(options.scheduler_configs).faults)
    if options.shard_sync_period < 1:
        faults.append(f"--shard-sync-period: got {options.shard_sync_period}s, expected at least 1s")
    if not options.default_queue:
        faults.append("--default-queue: got an empty name")
    if [bool(part) for part in options.topology_discovery.split("/")] != [True, True]:
        faults.append(f"--topology-discovery: got {options.topology_discovery!r}, expected namespace/name")
    faults.extend(
        f"--{name.replace('_', '-')}: got {number}, expected at least 1"
        for name, number in ((field.name, getattr(options, field.name)) for field in fields(options))
        if name.startswith("worker_threads") and number < 1
    )
    if options.enable_admission:
        try:
            _ = options.of_admission
        except ConfigError as error:
            faults.extend(error.faults)
    return faults
