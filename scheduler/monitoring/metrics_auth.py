"""Metrics authorization: metrics and debug endpoints over TLS, for authorized callers only."""

import asyncio
import ssl
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.reviews import Access, Reviews
from pyroclast.model.errors import ConfigError

__all__ = ["MountedCertificate", "guard"]

_LOOK_SECONDS: Final = 30.0
"""Interval between checks of the certificate's files. Certificates are renewed days before they expire."""

_log = structlog.get_logger(__name__)


def guard(reviews: Reviews) -> Middleware:
    """Return a middleware that requires a bearer token whose owner may `get` the path, or `put` to it."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        verb = "put" if request.method == "PUT" else "get"
        try:
            access = await reviews.judge(token.strip() if kind.lower() == "bearer" else "", request.path, verb)
        except ApiError as error:
            _log.warning("caller_not_reviewed", path=request.path, error=str(error))
            return web.Response(status=503, text="the API server cannot review the token; try again\n")
        if access is Access.GRANTED:
            return await handler(request)
        if access is Access.UNKNOWN:
            text = "a bearer token of this cluster is required\n"
            return web.Response(status=access.value, text=text, headers={"WWW-Authenticate": "Bearer"})
        text = f"your account may not {verb} {request.path} (nonResourceURLs of a ClusterRole)\n"
        return web.Response(status=access.value, text=text)

    return guarded


class MountedCertificate:
    """A certificate in two files that may be renewed while the process runs."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files.

        Raises:
            ConfigError: The files cannot be used.
        """
        self._certificate, self._key = certificate, key
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            self._seen = self._stamp()
            self.context.load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"--metrics-tls-cert-file, --metrics-tls-private-key-file: {error}") from error

    async def follow(self) -> None:
        """Use a renewed certificate for new connections, forever. If it cannot be read, the last good one stays."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Read the files again if they changed."""
        try:
            stamp = self._stamp()
            if stamp != self._seen:
                # Tested in a separate context: a pair that does not match would leave the current one half replaced.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._certificate, self._key)
                self.context.load_cert_chain(self._certificate, self._key)
                self._seen = stamp
        except (OSError, ssl.SSLError) as error:
            # Only one file may be new so far: the next check finds both.
            _log.warning("certificate_not_renewed", file=str(self._certificate), error=str(error))

    def _stamp(self) -> tuple[int, int]:
        return self._certificate.stat().st_mtime_ns, self._key.stat().st_mtime_ns
