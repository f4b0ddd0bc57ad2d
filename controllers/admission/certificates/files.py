"""Certificates from files, as cert-manager keeps them in a mounted Secret: read again when they change.

The kubelet swaps all files of a mount at once. Files that do not form a pair were read during a swap.
"""

import asyncio
from pathlib import Path

from pyroclast.controllers.admission.certificates.pairs import pair_of
from pyroclast.controllers.admission.certificates.rotation import Material
from pyroclast.model.errors import ConfigError

__all__ = ["CertificateFiles"]


class CertificateFiles:
    """A certificate, its key, and optionally the authority, from files."""

    def __init__(self, certificate: str, key: str, authority: str = "") -> None:
        """Store the paths. Without a path of an authority the CA bundle is not managed."""
        self._paths = certificate, key
        self._authority = authority

    async def current(self) -> Material:
        """Read the files.

        Raises:
            ConfigError: The files cannot be read, or certificate and key do not match.
        """
        return await asyncio.to_thread(self._read)

    def _read(self) -> Material:
        try:
            certificate, key = (Path(path).read_bytes() for path in self._paths)
            trusted = Path(self._authority).read_bytes() if self._authority else b""
        except OSError as error:
            raise ConfigError(f"{error.filename}: {error.strerror or error}") from error
        pair = pair_of(certificate, key)
        if pair is None:
            raise ConfigError(f"{self._paths[0]}: no certificate in PEM, or not the one of {self._paths[1]}")
        return Material(serving=pair, trusted=trusted)
