"""Address of the API server, and credentials for it.

`kubernetes.aio` reads kubeconfig files, in-cluster service accounts and exec plugins. This module turns its result into
a server address, a TLS context and an `Authorization` header that is renewed.
"""

import asyncio
import os
import ssl
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import aiohttp
import structlog
from kubernetes.aio import config as loading
from kubernetes.aio.client import Configuration
from yaml import YAMLError

from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.model.errors import ConfigError

__all__ = ["ClusterAccess", "ClusterOptions", "ConfigError", "connect"]

_REFRESH_SECONDS: Final = 60.0
"""Time for which a changeable credential is used before it is reloaded, as in client-go for token files."""
_RETRY_SECONDS: Final = 5.0
"""Time for which the last credential is used after its source failed."""
_SOURCE_SECONDS: Final = 15.0
"""Time that a source has to renew a credential. The first load has no limit: a user may have to log in."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Options that locate the API server."""

    kubeconfig: str = ""
    """Path of a kubeconfig file (several may be joined with `:`). Empty: the service account of the pod if there is
    one, else `$KUBECONFIG`, else `~/.kube/config`.
    """
    context: str = ""
    """Context of the kubeconfig file; empty for its current one."""
    master: str = ""
    """Address of the API server; overrides the one found otherwise."""


class ClusterAccess:
    """An API server with credentials for it."""

    def __init__(
        self, options: ClusterOptions, *, clock: Clock | None = None, source_seconds: float = _SOURCE_SECONDS
    ) -> None:
        """Store the options; `connect` reads the configuration.

        Args:
            options: Options that locate the server.
            clock: Clock that decides when credentials are stale.
            source_seconds: Time that the source of a credential has to renew it.
        """
        self.server = ""
        """Address without a trailing slash."""
        self.tls: ssl.SSLContext | bool = True
        self.tls_server_name: str | None = None
        self.proxy: str | None = None
        self._options = options
        self._clock = clock or SystemClock()
        self._authorization: str | None = None
        self._source_seconds = source_seconds
        self._tls_stamp: tuple[bytes | bool, ...] = ()
        self._loader: Any = None
        self._context = ""
        """Context of the first load."""
        self._failed = ""
        """Last error of the source of credentials; logged when it changes."""
        self._fresh_until = 0.0
        self._is_changeable = False
        self._renewing = asyncio.Lock()
        self._loads = 0

    @property
    def described(self) -> str:
        """Description of the server: address, and the file and context it was read from."""
        return f"{self.server} ({self._origin()})"

    @property
    def namespace(self) -> str:
        """Namespace of the context; empty if it has none."""
        context = {} if self._loader is None else self._loader.current_context["context"]
        return str(context["namespace"]) if "namespace" in context else ""

    async def authorization(self, *, renew: bool = False) -> str | None:
        """Return the `Authorization` header; reload it if it may have changed.

        Args:
            renew: The server refused the last header: reload now.
        """
        if not self._is_changeable or not (renew or self._is_stale()):
            return self._authorization
        loads = self._loads
        async with self._renewing:
            # Many requests find the same header stale: the first one reloads it for all.
            if self._loads == loads:
                await self._renew()
        return self._authorization

    def _is_stale(self) -> bool:
        return self._clock.monotonic() >= self._fresh_until

    async def _renew(self) -> None:
        """Reload from the source. If it fails, the last header stays, and the server decides about it."""
        try:
            # Every request waits for this one: a plugin that hangs must not block them for ever.
            async with asyncio.timeout(self._source_seconds):
                await self.load()
        except (ConfigError, TimeoutError) as error:
            # A plugin that fails temporarily must not end reflectors or the elector: requests are retried anyway.
            why = str(error) or f"{self._source()}: no answer within {self._source_seconds:g} s"
            log = _log.debug if why == self._failed else _log.warning
            log("credentials_not_renewed", error=why)
            self._failed = why
            self._fresh_until = self._clock.monotonic() + _RETRY_SECONDS
            self._loads += 1

    async def load(self) -> None:
        """Read the configuration.

        Raises:
            ConfigError: It cannot be used.
        """
        found = Configuration()
        found.host = ""
        try:
            await self._fill(found)
        except (
            loading.ConfigException,
            YAMLError,
            OSError,
            ValueError,
            TypeError,
            AttributeError,
            LookupError,
            aiohttp.ClientError,
        ) as error:
            # The loader fails on malformed files with any of these errors.
            raise ConfigError(f"{self._source()}: {error}") from error
        self._take(found)
        self._loads += 1
        self._fresh_until = self._clock.monotonic() + _REFRESH_SECONDS

    async def _fill(self, found: Configuration) -> None:
        if _is_in_cluster(self._options):
            loading.load_incluster_config(found, try_refresh_token=False)  # type: ignore[no-untyped-call]  # untyped library
            self._is_changeable = True
            return
        if self._options.master and not self._options.kubeconfig and not _kubeconfig_exists():
            return
        if not _kubeconfig_exists(self._options.kubeconfig):
            raise ConfigError(f"{self._source()}: no such kubeconfig file; name one by --kubeconfig or $KUBECONFIG")
        if self._loader is None or not self._has_exec_plugin():
            # The loader of an exec plugin is kept: it knows when its token expires.
            self._loader = await loading.load_kube_config(  # type: ignore[no-untyped-call]  # untyped library
                # Read here, because the library read the environment when it was imported.
                config_file=self._options.kubeconfig or os.environ.get("KUBECONFIG") or None,
                context=self._options.context or self._context or None,
                client_configuration=found,
                persist_config=False,
            )
        else:
            await self._loader.load_and_set(found)
        # Used by all later loads, so that a change of the current context never leads to another cluster.
        self._context = self._loader.current_context["name"]
        user = self._user()
        # Tools also renew authorities, certificates and tokens in the file itself. A pipe cannot be read twice.
        self._is_changeable = _is_regular(self._options.kubeconfig)
        if "exec" in user and not found.api_key and not found.cert_file:
            raise ConfigError(f"{self._source()}: the exec plugin of the user gave no credentials")

    def _take(self, found: Configuration) -> None:
        self.server = (self._options.master or found.host).rstrip("/")
        if not self.server:
            raise ConfigError(f"{self._source()}: no server address")
        if not self.server.startswith(("http://", "https://")):
            where = "--master" if self._options.master else self._source()
            raise ConfigError(f"{where}: got the server address {self.server!r}, expected http://… or https://…")
        self.proxy = found.proxy or None
        self.tls_server_name = found.tls_server_name or None
        self._authorization = self._header_of(found.api_key.get("BearerToken"))
        if self.server.startswith("https"):
            stamp = _tls_stamp(found)
            if stamp != self._tls_stamp:
                self.tls, self._tls_stamp = _tls_context(found), stamp

    def _header_of(self, credential: str | None) -> str | None:
        """Return a credential without the white space around it, such as the newline that ends a file.

        Raises:
            ConfigError: It has characters that no header can carry; the message does not repeat it.
        """
        header = (credential or "").strip()
        if not (header.isascii() and header.isprintable()):
            raise ConfigError(f"{self._source()}: the token has characters that no HTTP header can carry")
        return header or None

    def _user(self) -> dict[str, Any]:
        user = self._loader._user if self._loader is not None else None  # noqa: SLF001  the loader has no public attribute for it
        return {} if user is None else getattr(user, "value", user)

    def _has_exec_plugin(self) -> bool:
        return "exec" in self._user()

    def _origin(self) -> str:
        if _is_in_cluster(self._options):
            return "the pod's service account"
        if self._loader is None:
            return "--master"
        context = self._loader.current_context["name"]
        address = ", address from --master" if self._options.master else ""
        return f"kubeconfig {self._source()}, context {context}{address}"

    def _source(self) -> str:
        if _is_in_cluster(self._options):
            return "service account"
        return self._options.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"


async def connect(options: ClusterOptions, *, clock: Clock | None = None) -> ClusterAccess:
    """Find the API server and credentials for it.

    Raises:
        ConfigError: No usable configuration was found.
    """
    cluster = ClusterAccess(options, clock=clock)
    await cluster.load()
    return cluster


def _is_in_cluster(options: ClusterOptions) -> bool:
    return not options.kubeconfig and not options.master and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def _kubeconfig_exists(paths: str = "") -> bool:
    return any(
        os.path.exists(os.path.expanduser(path))  # noqa: PTH110, PTH111  a list of paths as text, as `$KUBECONFIG` has it
        for path in (paths or os.environ.get("KUBECONFIG") or "~/.kube/config").split(os.pathsep)
        if path
    )


def _is_regular(paths: str) -> bool:
    """Return whether a kubeconfig, or each of several, is a file that can be read again."""
    named = (paths or os.environ.get("KUBECONFIG") or "~/.kube/config").split(os.pathsep)
    there = [path for path in (Path(each).expanduser() for each in named if each) if path.exists()]
    return all(path.is_file() for path in there)


def _tls_stamp(found: Configuration) -> tuple[bytes | bool, ...]:
    """Return a digest of the TLS files' contents: authorities and certificates are renewed under the same names."""
    files = (found.ssl_ca_cert, found.cert_file, found.key_file)
    try:
        return (*(sha256(Path(file).read_bytes()).digest() if file else b"" for file in files), bool(found.verify_ssl))
    except OSError as error:
        raise ConfigError(f"TLS files: {error}") from error


def _tls_context(found: Configuration) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=found.ssl_ca_cert or None)
        if found.cert_file:
            context.load_cert_chain(found.cert_file, found.key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"TLS files: {error}") from error
    if not found.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
