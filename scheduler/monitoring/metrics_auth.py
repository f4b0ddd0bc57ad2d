"""Metrics authorization: metrics and debug endpoints over TLS, for authorized callers only."""

import asyncio
import ssl
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from pyroclast.kube.errors import ApiError
from pyroclast.kube.reviews import Access, Reviews
from pyroclast.model.errors import ConfigError

__all__ = ["MountedCertificate", "guard"]

_LOOK_SECONDS: Final = 30.0
"""Between two looks at the files of a certificate; whoever renews one does so days before its end."""

_log = structlog.get_logger(__name__)


def guard(reviews: Reviews) -> Middleware:
    """Return a middleware that asks for a bearer token whose owner may `get` the path."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        try:
            access = await reviews.judge(token.strip() if kind.lower() == "bearer" else "", request.path)
        except ApiError as error:
            _log.warning("caller_not_reviewed", path=request.path, error=str(error))
            return web.Response(status=503, text="the API server cannot say who you are; try again\n")
        if access is Access.GRANTED:
            return await handler(request)
        if access is Access.UNKNOWN:
            text = "a bearer token of this cluster is needed\n"
            return web.Response(status=access.value, text=text, headers={"WWW-Authenticate": "Bearer"})
        text = f"your account may not get {request.path} (nonResourceURLs of a ClusterRole)\n"
        return web.Response(status=access.value, text=text)

    return guarded


class MountedCertificate:
    """A certificate in two files, which somebody renews now and then."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read it.

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
        """Show a renewed certificate to new connections, without end; one that cannot be read leaves the last good."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Read the files again where they changed."""
        try:
            stamp = self._stamp()
            if stamp != self._seen:
                # tried apart: a pair that does not match would leave the one in use half replaced
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._certificate, self._key)
                self.context.load_cert_chain(self._certificate, self._key)
                self._seen = stamp
        except (OSError, ssl.SSLError) as error:
            # half of the pair may be new already: the next look finds both
            _log.warning("certificate_not_renewed", file=str(self._certificate), error=str(error))

    def _stamp(self) -> tuple[int, int]:
        return self._certificate.stat().st_mtime_ns, self._key.stat().st_mtime_ns
