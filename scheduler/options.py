"""Options of the daemon: each flag once, with its default and how to switch it off.

Names and defaults are Volcano's. What has no meaning here is accepted, warned of, and listed with its reason in
`WITHOUT_EFFECT`; docs/flags.md is kept equal to all of it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from model.errors import ConfigError
from scheduler import flags
from scheduler.environment import Environment, read_environment
from scheduler.features import Features, read_gates
from scheduler.flags import FlagKind, flag

__all__ = ["DEBUG_VERBOSITY", "WITHOUT_EFFECT", "Options", "ParsedOptions", "parse_options"]

DEBUG_VERBOSITY: Final = 4
"""Verbosity (`--v`) from which debug lines are logged."""

DEFAULT_LEASE: Final = "volcano"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line and the environment say."""

    master: str = flag(FlagKind.TEXT, "", "Address of the API server; outranks the kubeconfig's.")
    kubeconfig: str = flag(FlagKind.TEXT, "", "Kubeconfig file; empty: the service account of the pod.")
    ca_cert_file: str = flag(
        FlagKind.TEXT, "", "Authority of client certificates; with the next two, the probes are served over TLS."
    )
    tls_cert_file: str = flag(FlagKind.TEXT, "", "Certificate of the health server, PEM.")
    tls_private_key_file: str = flag(FlagKind.TEXT, "", "Private key of that certificate, PEM.")
    lock_object_namespace: str = flag(FlagKind.TEXT, "", "Deprecated: use --leader-elect-resource-namespace.")
    scheduler_name: tuple[str, ...] = flag(
        FlagKind.REPEAT, ("volcano",), "Pods with this schedulerName are ours; may be repeated."
    )
    scheduler_conf: str = flag(FlagKind.TEXT, "", "Configuration file, read again when it changes; empty: built in.")
    schedule_period: float = flag(FlagKind.DURATION, 1.0, "Pause between the end of a cycle and the next.")
    default_queue: str = flag(FlagKind.TEXT, "default", "Queue of groups that name none; made when missing.")
    version: bool = flag(FlagKind.BOOLEAN, default=False, help="Print the version and leave.")
    listen_address: str = flag(FlagKind.TEXT, ":8080", "Address of /metrics and /debug.")
    metrics_tls_cert_file: str = flag(
        FlagKind.TEXT, "", "Certificate of that address, PEM, read again when it changes; empty: plain HTTP."
    )
    metrics_tls_private_key_file: str = flag(FlagKind.TEXT, "", "Private key of that certificate, PEM.")
    metrics_authorization: bool = flag(
        FlagKind.BOOLEAN,
        default=False,
        help="Callers of that address need a token whose account may get the path.",
    )
    healthz_address: str = flag(FlagKind.TEXT, ":11251", "Address of /healthz, /livez and /readyz.")
    priority_class: bool = flag(FlagKind.BOOLEAN, default=True, help="Follow priority classes; false: all are 0.")
    plugins_dir: str = flag(FlagKind.TEXT, "", "Folder of plugins, one .py file each; empty: none.")
    csi_storage: bool = flag(FlagKind.BOOLEAN, default=True, help="Follow CSIDrivers and CSIStorageCapacities.")
    enable_healthz: bool = flag(FlagKind.BOOLEAN, default=False, help="Serve the probes.")
    enable_metrics: bool = flag(FlagKind.BOOLEAN, default=False, help="Serve /metrics.")
    enable_pprof: bool = flag(
        FlagKind.BOOLEAN, default=False, help="Serve /debug/snapshot, /debug/explain and /debug/audit."
    )
    node_selector: tuple[str, ...] = flag(
        FlagKind.LIST, (), "Only nodes with one of these labels, `key:value`; none: all nodes."
    )
    cache_dumper: bool = flag(FlagKind.BOOLEAN, default=True, help="SIGUSR1 writes the cluster as seen to a file.")
    cache_dump_dir: str = flag(FlagKind.TEXT, "/tmp", "Folder of those files.")  # noqa: S108 - Volcano's default, kept
    gate_removal_worker_num: int = flag(FlagKind.WHOLE, 5, "Scheduling gates removed at a time; below 1 means 5.")
    ignored_provisioners: tuple[str, ...] = flag(FlagKind.LIST, (), "CSI provisioners whose volumes do not count.")
    resource_sync_timeout: float = flag(
        FlagKind.DURATION, 60.0, "Longest wait for all lists; then pods, nodes, groups and queues must do."
    )
    disable_default_scheduler_config: bool = flag(
        FlagKind.BOOLEAN, default=False, help="Refuse to start without a good configuration file."
    )
    scheduler_sharding_mode: str = flag(
        FlagKind.TEXT, "none", "Whether NodeShards limit (hard) or rank (soft) nodes.", choices=("none", "hard", "soft")
    )
    scheduler_sharding_name: str = flag(FlagKind.TEXT, "volcano", "NodeShard of this scheduler.")
    leader_elect: bool = flag(FlagKind.BOOLEAN, default=True, help="Work only while holding the lease.")
    leader_elect_lease_duration: float = flag(FlagKind.DURATION, 15.0, "Age at which others may take the lease.")
    leader_elect_renew_deadline: float = flag(FlagKind.DURATION, 10.0, "Longest time to renew before giving up.")
    leader_elect_retry_period: float = flag(FlagKind.DURATION, 2.0, "Pause between tries.")
    leader_elect_resource_lock: str = flag(FlagKind.TEXT, "leases", "Kind of the lock.", choices=("leases",))
    leader_elect_resource_namespace: str = flag(FlagKind.TEXT, "volcano-system", "Namespace of the lease.")
    leader_elect_resource_name: str = flag(
        FlagKind.TEXT, DEFAULT_LEASE, "Name of the lease; does not follow --scheduler-name."
    )
    feature_gates: tuple[str, ...] = flag(FlagKind.LIST, (), "`Name=true` or `Name=false`, by commas.")
    v: int = flag(FlagKind.WHOLE, 0, f"Verbosity; {DEBUG_VERBOSITY} and more logs debug lines.")
    log_format: str = flag(FlagKind.TEXT, "json", "Form of log lines.", choices=("json", "console"))
    seed: int = flag(FlagKind.WHOLE, 0, "Seed of every choice that is not settled by rules.")
    strict: bool = flag(FlagKind.BOOLEAN, default=False, help="Warnings of the configuration file are faults.")
    ungrouped_pods: str = flag(
        FlagKind.TEXT, "wait", "Pods without a PodGroup: wait, or run as gangs of one.", choices=("wait", "single")
    )

    record: str = flag(
        FlagKind.TEXT, "", "File that `pyroclast replay` decides again from; empty: nothing is recorded."
    )

    features: Features = field(default_factory=lambda: Features({}))
    """Feature gates as read from `feature_gates`."""
    environment: Environment = field(default_factory=Environment)
    """What environment variables say."""

    @property
    def serves_tls(self) -> bool:
        """Tell whether the probes are served over TLS."""
        return bool(self.ca_cert_file and self.tls_cert_file and self.tls_private_key_file)

    @property
    def lease_namespace(self) -> str:
        """Namespace of the lease; the deprecated flag outranks the other."""
        return self.lock_object_namespace or self.leader_elect_resource_namespace

    @property
    def component(self) -> str:
        """Name that events and requests carry: the scheduler's, or Volcano's own when it has several."""
        return self.scheduler_name[0] if len(self.scheduler_name) == 1 else "volcano"

    @property
    def gate_workers(self) -> int:
        """Scheduling gates removed at a time."""
        return self.gate_removal_worker_num if self.gate_removal_worker_num >= 1 else 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedOptions:
    """Options, and what an operator should know about them."""

    options: Options
    warnings: tuple[str, ...]


_RATE: Final = "requests are bounded by open connections, and by what the API server answers"
_SAMPLING: Final = "every node is looked at: sampling would cost more than it saves"
_LOGGING: Final = "lines go to standard error, unbuffered; --log-format and --v decide their form"

WITHOUT_EFFECT: Final[Mapping[str, tuple[FlagKind, str]]] = {
    "resync-period": (FlagKind.DURATION, "watches are resumed and audited; nothing is listed again by the clock"),
    "kube-api-qps": (FlagKind.TEXT, _RATE),
    "kube-api-burst": (FlagKind.TEXT, _RATE),
    "minimum-feasible-nodes": (FlagKind.WHOLE, _SAMPLING),
    "minimum-percentage-nodes-to-find": (FlagKind.WHOLE, _SAMPLING),
    "percentage-nodes-to-find": (FlagKind.WHOLE, _SAMPLING),
    "node-worker-threads": (FlagKind.WHOLE, "events of nodes are applied as they come, in one thread"),
    "log-flush-frequency": (FlagKind.DURATION, _LOGGING),
    "add-dir-header": (FlagKind.BOOLEAN, _LOGGING),
    "alsologtostderr": (FlagKind.BOOLEAN, _LOGGING),
    "log-backtrace-at": (FlagKind.TEXT, _LOGGING),
    "log-dir": (FlagKind.TEXT, _LOGGING),
    "log-file": (FlagKind.TEXT, _LOGGING),
    "log-file-max-size": (FlagKind.TEXT, _LOGGING),
    "logtostderr": (FlagKind.BOOLEAN, _LOGGING),
    "one-output": (FlagKind.BOOLEAN, _LOGGING),
    "skip-headers": (FlagKind.BOOLEAN, _LOGGING),
    "skip-log-headers": (FlagKind.BOOLEAN, _LOGGING),
    "stderrthreshold": (FlagKind.TEXT, _LOGGING),
    "vmodule": (FlagKind.TEXT, _LOGGING),
}
"""Flags of Volcano that are accepted, by name, and why they change nothing."""


def parse_options(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> ParsedOptions:
    """Read flags and environment variables.

    Raises:
        ConfigError: With every fault found.
    """
    reading = flags.read(arguments, flags.flags_of(Options), {name: kind for name, (kind, _) in WITHOUT_EFFECT.items()})
    surroundings, warnings, faults = read_environment(environment)
    features, gate_warnings, gate_faults = read_gates(reading.values.get("feature_gates", ()))
    options = Options(**reading.values, features=features, environment=surroundings)
    faults = [*reading.faults, *gate_faults, *_faults_of(options), *faults]
    if faults:
        raise ConfigError(*faults)
    ignored = [f"--{name}: without effect: {WITHOUT_EFFECT[name][1]}" for name in dict.fromkeys(reading.ignored)]
    return ParsedOptions(options=options, warnings=(*ignored, *gate_warnings, *warnings, *_warnings_of(options)))


def _faults_of(options: Options) -> list[str]:
    """Find values that cannot work, or not together."""
    faults = [*_election_faults(options), *_address_faults(options)]
    if options.schedule_period < 0:
        faults.append(f"--schedule-period: got {options.schedule_period}s, expected 0 or more")
    if options.disable_default_scheduler_config and not options.scheduler_conf:
        faults.append("--disable-default-scheduler-config: needs --scheduler-conf")
    faults.extend(
        f"--node-selector: got {entry!r}, expected key:value" for entry in options.node_selector if ":" not in entry
    )
    if "" in options.scheduler_name:
        faults.append("--scheduler-name: got an empty name")
    return faults


def _election_faults(options: Options) -> list[str]:
    """Refuse times with which two schedulers could lead at once, as client-go does."""
    if not options.leader_elect:
        return []
    lease, deadline, retry = (
        options.leader_elect_lease_duration,
        options.leader_elect_renew_deadline,
        options.leader_elect_retry_period,
    )
    jitter = 1.2
    faults = []
    if lease < 1:
        faults.append(f"--leader-elect-lease-duration: got {lease}s, expected 1s or more: leases count whole seconds")
    if lease <= deadline:
        faults.append(
            f"--leader-elect-lease-duration: got {lease}s, expected more than the renew deadline, {deadline}s"
        )
    if deadline <= retry * jitter:
        faults.append(f"--leader-elect-renew-deadline: got {deadline}s, expected more than {jitter} retry periods")
    if retry <= 0:
        faults.append(f"--leader-elect-retry-period: got {retry}s, expected more than 0")
    if not options.leader_elect_resource_name:
        faults.append("--leader-elect-resource-name: got an empty name")
    if not options.lease_namespace:
        faults.append("--leader-elect-resource-namespace: got an empty name")
    return faults


def _address_faults(options: Options) -> list[str]:
    """Refuse addresses without a port, and tokens without TLS."""
    faults = []
    for name, address in (("listen-address", options.listen_address), ("healthz-address", options.healthz_address)):
        port = address.rpartition(":")[2]
        if not (":" in address and port.isdecimal() and int(port) < 2**16):
            faults.append(f"--{name}: got {address!r}, expected host:port or :port")
    pair = (options.metrics_tls_cert_file, options.metrics_tls_private_key_file)
    if any(pair) and not all(pair):
        faults.append("--metrics-tls-cert-file, --metrics-tls-private-key-file: one without the other")
    if options.metrics_authorization and not all(pair):
        faults.append("--metrics-authorization: needs --metrics-tls-cert-file: tokens would travel in the clear")
    return faults


def _warnings_of(options: Options) -> list[str]:
    """Say what is deprecated, or only half given."""
    warnings = []
    if options.lock_object_namespace:
        warnings.append("--lock-object-namespace: deprecated; use --leader-elect-resource-namespace")
    given = [options.ca_cert_file, options.tls_cert_file, options.tls_private_key_file]
    if any(given) and not all(given):
        warnings.append("--ca-cert-file, --tls-cert-file, --tls-private-key-file: TLS needs all three; served without")
    return warnings
