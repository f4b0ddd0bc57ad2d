"""Clients: if an authority is set, only clients with a certificate that it signed are accepted.

The API server presents a certificate to webhooks if its `--admission-control-config-file` names a kubeconfig with one.
"""

import ssl
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pyroclast.model.errors import ConfigError

__all__ = ["ClientAuthority", "names_of"]


class ClientAuthority:
    """Certificate authorities of clients, from a PEM file that is read again when it changes."""

    def __init__(self, path: str) -> None:
        """Store the path. Nothing is read yet."""
        self._path = path
        self._text = ""

    def demand(self, context: ssl.SSLContext) -> None:
        """Configure a TLS context to accept only clients whose certificate an authority of the file signed.

        Authorities that the file gains later are added. A TLS context cannot drop an authority, so an authority that
        the file loses is trusted until the process ends.

        Raises:
            ConfigError: The file cannot be read, or contains no certificate.
        """
        try:
            text = Path(self._path).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self._path}: {error}") from error
        if not text.strip():
            raise ConfigError(f"{self._path}: no certificate in PEM: the file is empty")
        if text == self._text:
            return
        try:
            context.load_verify_locations(cadata=text)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"{self._path}: no certificate in PEM: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
        self._text = text


def names_of(certificate: Any) -> Collection[str]:
    """Return the common names and DNS names of a peer's certificate, as `SSLObject.getpeercert` gives it."""
    fields = (certificate or {}).get("subject", ())
    common = {value for parts in fields for key, value in parts if key == "commonName"}
    return common | {value for kind, value in (certificate or {}).get("subjectAltName", ()) if kind == "DNS"}
