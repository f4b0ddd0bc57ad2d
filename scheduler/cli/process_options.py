"""Options that all processes share: API server, endpoints, leader election and logging.

Names and defaults are Volcano's.
"""

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from pyroclast.model.api.names import SYSTEM_NAMESPACE
from pyroclast.scheduler.cli.features import Features
from pyroclast.scheduler.cli.flags import FlagKind, flag

__all__ = ["DEBUG_VERBOSITY", "ParsedOptions", "ProcessOptions", "process_faults", "process_warnings"]

DEBUG_VERBOSITY: Final = 4
"""Minimum verbosity (`--v`) at which debug lines are logged."""

DEFAULT_LEASE: Final = "volcano"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """Options of a process that do not depend on its task."""

    master: str = flag(FlagKind.TEXT, "", "Address of the API server; outranks the kubeconfig's.")
    kubeconfig: str = flag(FlagKind.TEXT, "", "Kubeconfig file; empty: the service account of the pod.")
    ca_cert_file: str = flag(
        FlagKind.TEXT, "", "Authority of client certificates; with the next two, the probes are served over TLS."
    )
    tls_cert_file: str = flag(FlagKind.TEXT, "", "Certificate of the health server, PEM.")
    tls_private_key_file: str = flag(FlagKind.TEXT, "", "Private key of that certificate, PEM.")
    lock_object_namespace: str = flag(FlagKind.TEXT, "", "Deprecated: use --leader-elect-resource-namespace.")
    version: bool = flag(FlagKind.BOOLEAN, default=False, help="Print the version and exit.")
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
    enable_healthz: bool = flag(FlagKind.BOOLEAN, default=False, help="Serve the probes.")
    enable_metrics: bool = flag(FlagKind.BOOLEAN, default=False, help="Serve /metrics.")
    leader_elect: bool = flag(FlagKind.BOOLEAN, default=True, help="Work only while holding the lease.")
    leader_elect_lease_duration: float = flag(FlagKind.DURATION, 15.0, "Age at which others may take the lease.")
    leader_elect_renew_deadline: float = flag(FlagKind.DURATION, 10.0, "Longest time to renew before giving up.")
    leader_elect_retry_period: float = flag(FlagKind.DURATION, 2.0, "Pause between tries.")
    leader_elect_resource_lock: str = flag(FlagKind.TEXT, "leases", "Kind of the lock.", choices=("leases",))
    leader_elect_resource_namespace: str = flag(FlagKind.TEXT, SYSTEM_NAMESPACE, "Namespace of the lease.")
    leader_elect_resource_name: str = flag(
        FlagKind.TEXT, DEFAULT_LEASE, "Name of the lease; does not follow --scheduler-name."
    )
    feature_gates: tuple[str, ...] = flag(FlagKind.LIST, (), "`Name=true` or `Name=false`, by commas.")
    v: int = flag(FlagKind.WHOLE, 0, f"Verbosity; {DEBUG_VERBOSITY} and more logs debug lines.")
    log_format: str = flag(FlagKind.TEXT, "json", "Form of log lines.", choices=("json", "console"))
    features: Features = field(default_factory=lambda: Features({}))
    """Feature gates parsed from `feature_gates`."""

    @property
    def serves_tls(self) -> bool:
        """Whether the probes are served over TLS."""
        return bool(self.ca_cert_file and self.tls_cert_file and self.tls_private_key_file)

    @property
    def lease_namespace(self) -> str:
        """Namespace of the lease. The deprecated flag outranks the other one."""
        return self.lock_object_namespace or self.leader_elect_resource_namespace


T = TypeVar("T", bound=ProcessOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedOptions(Generic[T]):
    """Options of a process, with warnings for the operator."""

    options: T
    warnings: tuple[str, ...]


def process_faults(options: ProcessOptions) -> list[str]:
    """Return the faults of values and of their combinations."""
    return [*_election_faults(options), *_address_faults(options)]


def process_warnings(options: ProcessOptions) -> list[str]:
    """Return warnings about deprecated and incomplete flags."""
    warnings = []
    if options.lock_object_namespace:
        warnings.append("--lock-object-namespace: deprecated; use --leader-elect-resource-namespace")
    given = [options.ca_cert_file, options.tls_cert_file, options.tls_private_key_file]
    if any(given) and not all(given):
        warnings.append("--ca-cert-file, --tls-cert-file, --tls-private-key-file: TLS needs all three; served without")
    return warnings


def _election_faults(options: ProcessOptions) -> list[str]:
    """Refuse durations with which two schedulers could lead at once, as client-go does."""
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


def _address_faults(options: ProcessOptions) -> list[str]:
    """Refuse addresses without a port, and token authentication without TLS."""
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
