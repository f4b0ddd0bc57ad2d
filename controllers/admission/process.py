"""Admission in a process: starts all parts and runs until cancelled.

    options → certificates → stores of queues and namespaces → listening

Every replica serves, without leader election.
"""

import asyncio
from pathlib import Path
from typing import Final

import structlog

from pyroclast.controllers.admission.certificates.clients import ClientAuthority
from pyroclast.controllers.admission.certificates.files import CertificateFiles
from pyroclast.controllers.admission.certificates.secret import SharedSecret
from pyroclast.controllers.admission.certificates.watcher import CertificateWatcher
from pyroclast.controllers.admission.cluster import AdmissionCluster
from pyroclast.controllers.admission.handlers import AdmissionPolicy
from pyroclast.controllers.admission.options import AdmissionOptions
from pyroclast.controllers.admission.quota_counting import QuotaCounter
from pyroclast.controllers.admission.resource_groups import ResourceGroup, read_resource_groups
from pyroclast.controllers.admission.server import Server
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.model.errors import ConfigError

__all__ = ["Admission", "serve"]

_RETRY_SECONDS: Final = 2.0
"""Time between two attempts to get the first certificate, without which the server cannot start."""
_FILE_SECONDS: Final = 10.0
"""Time between two checks of the file of resource groups."""

_log = structlog.get_logger(__name__)


async def serve(client: Client, options: AdmissionOptions) -> None:
    """Answer the API server until cancelled.

    Raises:
        ConfigError: An option or a file is invalid.
    """
    await Admission(client, options).run()


class Admission:
    """States: made, listening (`port` is set), stopped."""

    def __init__(self, client: Client, options: AdmissionOptions, *, clock: Clock | None = None) -> None:
        """Create the parts, without opening a port.

        Raises:
            ConfigError: The file of resource groups cannot be used.
        """
        self._options, self._clock = options, clock or SystemClock()
        self._cluster = AdmissionCluster(client)
        source = (
            CertificateFiles(options.tls_cert_file, options.tls_private_key_file, options.ca_cert_file)
            if options.tls_cert_file
            else SharedSecret(
                client, namespace=options.namespace, name=options.secret, names=options.names, clock=self._clock
            )
        )
        clients = ClientAuthority(options.client_ca_file) if options.client_ca_file else None
        self._certificates = CertificateWatcher(
            client, source, configuration=options.configuration, clock=self._clock, clients=clients
        )
        self._groups_text = ""
        self._server = Server(
            self._cluster,
            self._policy(self._read_groups() or ()),
            options.paths,
            client_names=options.client_names,
            counter=QuotaCounter(client, self._cluster) if options.counts_quota_requests else None,
        )
        self.port: int | None = None
        """Port in use, None before the server listens."""

    def trouble(self) -> str | None:
        """Return why admission is not ready, None if it is."""
        if self.port is None:
            return "admission: there is no certificate yet"
        return None if self._cluster.is_synced else "admission: queues, quotas and namespaces are not listed yet"

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            ConfigError: The address cannot be used, or the certificate files are invalid at the start.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cluster.run())
            await self._first_certificate()
            tasks.create_task(self._certificates.run())
            if self._options.resource_groups_file:
                tasks.create_task(self._follow_groups())
            host, port = self._options.host_and_port
            await self._server.start(host, port, self._certificates.context)
            self.port = self._server.port
            _log.info("admission_serving", address=self._options.address, port=self.port, paths=self._options.paths)
            try:
                await asyncio.Event().wait()
            finally:
                await self._server.stop()

    async def _first_certificate(self) -> None:
        """Wait for the first certificate. Errors of the API server are retried. Errors of files are raised."""
        last_error = ""
        while not self._certificates.is_showing:
            try:
                await self._certificates.update()
            except ApiError as error:
                # A lasting error, such as a missing namespace, is logged as a warning only once.
                log = _log.debug if str(error) == last_error else _log.warning
                log("no_certificate", error=str(error))
                last_error = str(error)
                if not self._certificates.is_showing:
                    await self._clock.sleep(_RETRY_SECONDS)

    async def _follow_groups(self) -> None:
        """Reload the file of resource groups after a change. If it is invalid, the last valid file stays in effect."""
        while True:
            await self._clock.sleep(_FILE_SECONDS)
            try:
                groups = await asyncio.to_thread(self._read_groups)
            except ConfigError as error:
                _log.error("resource_groups_refused", file=self._options.resource_groups_file, faults=error.faults)
                continue
            if groups is not None:
                self._server.policy = self._policy(groups)
                _log.info("resource_groups_taken", groups=[group.name for group in groups])

    def _read_groups(self) -> tuple[ResourceGroup, ...] | None:
        """Read the file. Return None if it is unchanged.

        Raises:
            ConfigError: It cannot be used.
        """
        path = self._options.resource_groups_file
        if not path:
            return None
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: {error}") from error
        if text == self._groups_text:
            return None
        # Stored even if it is invalid, so that a fault is reported once.
        self._groups_text = text
        return read_resource_groups(text)

    def _policy(self, groups: tuple[ResourceGroup, ...]) -> AdmissionPolicy:
        return AdmissionPolicy(
            scheduler_names=self._options.scheduler_names,
            queue_limits=self._options.queue_limits,
            resource_groups=groups,
            gates_pods=self._options.gates_pods,
            allows_node_name=self._options.allows_node_name,
            checks_quota_labels=self._options.checks_quota_labels,
            guarantees_use=self._options.guarantees_use,
        )
