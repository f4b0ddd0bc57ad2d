"""Certificate watcher: loads the current certificate into the server periodically and publishes its CA bundle.

A failed renewal is retried in the next round. The current certificate stays in use until then.
"""

import asyncio
import base64
import os
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import structlog

from pyroclast.controllers.admission.certificates.clients import ClientAuthority
from pyroclast.controllers.admission.certificates.pairs import Pair
from pyroclast.controllers.admission.certificates.rotation import Material
from pyroclast.controllers.admission.metrics import CERTIFICATE_EXPIRY
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.clock import Clock
from pyroclast.kube.api.errors import ApiError
from pyroclast.model.errors import ConfigError

__all__ = ["CertificateSource", "CertificateWatcher", "new_context", "show", "update_ca_bundles"]

_UPDATE_SECONDS: Final = 10.0
"""Time between two rounds. Applying the chart again may empty the bundle, and files may have changed."""

_log = structlog.get_logger(__name__)
_ROOT: Final = "/apis/admissionregistration.k8s.io/v1"


class CertificateSource(Protocol):
    """Source of certificates."""

    async def current(self) -> Material:
        """Return the current certificates.

        Raises:
            ApiError: The API server refused the request for the Secret.
            ConfigError: A file cannot be used.
        """
        ...


class CertificateWatcher:
    """Keeps the certificate and the CA bundle of one server up to date.

    States: made, showing (after the first `update` that succeeds).
    """

    def __init__(
        self,
        client: Client,
        source: CertificateSource,
        *,
        configuration: str,
        clock: Clock,
        clients: ClientAuthority | None = None,
    ) -> None:
        """Create the watcher.

        Args:
            client: Client of the API server.
            source: Source of certificates.
            configuration: Name of the webhook configurations whose `caBundle` is updated. Empty: none is updated.
            clock: Clock for waiting.
            clients: Authority of the certificates that clients must present. None: no certificate is requested.
        """
        self.context: ssl.SSLContext = new_context()
        """TLS context of the server, with the current certificate."""
        self._client, self._source, self._clock, self._clients = client, source, clock, clients
        self._configuration = configuration
        self._shown: Pair | None = None

    @property
    def is_showing(self) -> bool:
        """Return whether the server has a certificate."""
        return self._shown is not None

    async def update(self) -> None:
        """Load the current certificate, then publish its CA bundle.

        The order does not matter, because an authority signs only some time after its bundle was published.

        Raises:
            ApiError: The API server refused, or did not answer.
            ConfigError: A file cannot be used.
        """
        if self._clients is not None:
            await asyncio.to_thread(self._clients.demand, self.context)
        material = await self._source.current()
        self._show(material)
        if self._configuration and material.trusted:
            await update_ca_bundles(self._client, self._configuration, material.trusted)

    async def run(self) -> None:
        """Repeat the rounds until cancelled."""
        last_error = ""
        while True:
            await self._clock.sleep(_UPDATE_SECONDS)
            try:
                await self.update()
            except (ApiError, ConfigError) as error:
                log = _log.debug if str(error) == last_error else _log.warning
                log("certificates_not_renewed", error=str(error))
                last_error = str(error)
            else:
                last_error = ""

    def _show(self, material: Material) -> None:
        pair = material.serving
        if pair is None or pair == self._shown:
            return
        try:
            show(self.context, pair)
        except ssl.SSLError as error:
            raise ConfigError(f"certificate: {error}") from error
        self._shown = pair
        CERTIFICATE_EXPIRY.set(pair.expires_at.timestamp())
        _log.info("certificate_shown", until=pair.expires_at.isoformat())


def new_context() -> ssl.SSLContext:
    """Return settings without a certificate: TLS 1.2 or newer, and client certificates as `clients` requires."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def show(context: ssl.SSLContext, pair: Pair) -> None:
    """Load a certificate. The key is never written to a disk.

    Raises:
        ssl.SSLError: The pair cannot be used.
    """
    # The ssl module only reads files; this file is in memory.
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as memory:
            memory.write(pair.certificate + pair.key)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


async def update_ca_bundles(client: Client, name: str, authorities: bytes) -> None:
    """Write the CA bundle into the mutating and the validating configuration of a name.

    The configurations belong to the chart. Only this field is written, and only where it differs. A configuration that
    does not exist is skipped.

    Raises:
        ApiError: The API server refused, or did not answer.
    """
    bundle = base64.b64encode(authorities).decode()
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        path = f"{_ROOT}/{plural}/{name}"
        try:
            configuration = await client.request_json("GET", path)
        except ApiError as error:
            if error.is_not_found:
                continue
            raise
        patches = list(_patches(configuration, bundle))
        if patches:
            await client.request_json("PATCH", path, body=patches, media_type=MediaType.JSON_PATCH)
            _log.info("ca_bundle_written", kind=plural, name=name)


def _patches(configuration: Mapping[str, Any], bundle: str) -> Iterator[dict[str, Any]]:
    """Yield the operations, after a test that the list has not changed meanwhile."""
    wrong = [
        number
        for number, webhook in enumerate(configuration.get("webhooks") or ())
        if (webhook.get("clientConfig") or {}).get("caBundle") != bundle
    ]
    if wrong:
        version = configuration["metadata"]["resourceVersion"]
        yield {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    for number in wrong:
        yield {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": bundle}
