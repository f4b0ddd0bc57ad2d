"""Secret: the certificates that replicas share, renewed when due.

Keys: `tls.crt` and `tls.key` (the serving certificate), `ca.crt` (the trusted authorities), `ca.key` with `signer.crt`,
and while an authority takes over `next.key` with `next.crt`.

A write succeeds only if the Secret has not changed since it was read. The replica that loses the race reads the other
replica's certificates and uses them.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from pyroclast.controllers.admission.certificates.pairs import Pair, pair_of
from pyroclast.controllers.admission.certificates.rotation import Lives, Material, renewed
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock
from pyroclast.kube.api.errors import ApiConflictError, ApiError

__all__ = ["SharedSecret"]

_TRIES: Final = 5

_log = structlog.get_logger(__name__)


class SharedSecret:
    """Certificates of all replicas, in one Secret."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        names: Sequence[str],
        clock: Clock,
        lives: Lives | None = None,
    ) -> None:
        """Store the location of the Secret.

        Args:
            client: Client of the API server.
            namespace: Namespace of the Secret.
            name: Its name.
            names: DNS names and addresses of the servers.
            clock: Clock that decides which certificates are due.
            lives: Lifetimes of certificates.
        """
        self._client, self._clock = client, clock
        self._namespace, self._name, self._names = namespace, name, tuple(names)
        self._lives = lives or Lives()
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"

    async def current(self) -> Material:
        """Return the current certificates. Certificates that are due are renewed and written first.

        Raises:
            ApiError: The Secret cannot be read or written.
        """
        for _ in range(_TRIES):
            secret = await self._read()
            material = _material(secret)
            desired = renewed(material, self._names, datetime.fromtimestamp(self._clock.wall(), UTC), self._lives)
            if desired == material:
                return material
            try:
                await self._write(secret, desired)
            except ApiConflictError:
                continue  # another replica wrote first: use its certificates
            _log.info("certificates_renewed", secret=f"{self._namespace}/{self._name}", until=_until(desired.serving))
            return desired
        raise ApiConflictError(409, "Conflict", f"secret {self._namespace}/{self._name} changes again and again")

    async def _read(self) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = await self._client.request_json("GET", f"{self._collection}/{self._name}")
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        return found

    async def _write(self, secret: Mapping[str, Any] | None, material: Material) -> None:
        """Write the Secret if it is unchanged since it was read.

        Raises:
            ApiConflictError: Another replica wrote meanwhile.
            ApiError: The Secret cannot be written.
        """
        data = _data(material)
        if secret is None:
            metadata = {"name": self._name, "namespace": self._namespace, "labels": _LABELS}
            body = {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "kubernetes.io/tls",
                "metadata": metadata,
                "data": data,
            }
            await self._client.request_json("POST", self._collection, body=body)
            return
        # Keys of other programs stay. Our keys without a use are removed.
        kept = {key: value for key, value in (secret.get("data") or {}).items() if key not in _KEYS}
        body = {**secret, "data": {**kept, **data}}
        await self._client.request_json("PUT", f"{self._collection}/{self._name}", body=body)


_KEYS: Final = frozenset({"tls.crt", "tls.key", "ca.crt", "ca.key", "signer.crt", "next.crt", "next.key"})
_LABELS: Final = {"app.kubernetes.io/name": "pyroclast", "app.kubernetes.io/component": "admission"}


def _material(secret: Mapping[str, Any] | None) -> Material:
    data = (secret or {}).get("data") or {}

    def part(key: str) -> bytes:
        try:
            return base64.b64decode(data.get(key) or "", validate=True)
        except (binascii.Error, ValueError, TypeError):
            return b""

    return Material(
        authority=pair_of(part("signer.crt"), part("ca.key")),
        next_authority=pair_of(part("next.crt"), part("next.key")),
        serving=pair_of(part("tls.crt"), part("tls.key")),
        trusted=part("ca.crt"),
    )


def _data(material: Material) -> dict[str, str]:
    parts: dict[str, bytes] = {"ca.crt": material.trusted}
    for pair, certificate, key in (
        (material.authority, "signer.crt", "ca.key"),
        (material.next_authority, "next.crt", "next.key"),
        (material.serving, "tls.crt", "tls.key"),
    ):
        if pair is not None:
            parts |= {certificate: pair.certificate, key: pair.key}
    return {key: base64.b64encode(value).decode() for key, value in parts.items()}


def _until(pair: Pair | None) -> str:
    return pair.expires_at.isoformat() if pair is not None else ""
