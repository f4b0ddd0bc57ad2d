"""Plain requests to an API server, for answers that kubectl does not show word for word."""

import http.client
import json
import ssl
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml

from tests.e2e.cluster import Cluster

__all__ = ["Answer", "Client", "tls_of"]

CREATED = 201
REQUEST_SECONDS = 30.0
"""Longest wait for one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server said."""

    code: int
    """HTTP status."""
    body: dict[str, Any]
    """JSON object."""

    @property
    def refusal(self) -> tuple[int, str, str]:
        """Code, reason and message of a `Status` that refuses; the codes of header and body must agree."""
        assert self.body["kind"] == "Status", self.body
        assert self.body["code"] == self.code
        return self.code, self.body.get("reason", ""), self.body["message"]


def connection(url: str, tls: ssl.SSLContext | None) -> http.client.HTTPConnection:
    """Return a connection that opens when it is used."""
    address = urllib.parse.urlsplit(url).netloc
    if tls is None:
        return http.client.HTTPConnection(address, timeout=REQUEST_SECONDS)
    return http.client.HTTPSConnection(address, timeout=REQUEST_SECONDS, context=tls)


def tls_of(cluster: Cluster) -> ssl.SSLContext | None:
    """Return the certificates of a kubeconfig; None for a server without TLS."""
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    there = config["clusters"][0]["cluster"]
    if not there["server"].startswith("https:"):
        return None
    tls = ssl.create_default_context(cafile=there["certificate-authority"])
    user = config["users"][0]["user"]
    tls.load_cert_chain(user["client-certificate"], user["client-key"])
    return tls


class OfThread(threading.local):
    """One connection for each thread: a connection carries one request at a time."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        """Called again in each thread that uses it."""
        self.connection = connection(url, tls)


class Client:
    """The administrator of a cluster, speaking JSON; several threads may use one."""

    def __init__(self, cluster: Cluster) -> None:
        """Read address and certificates from the kubeconfig."""
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        self._url: str = config["clusters"][0]["cluster"]["server"]
        tls = tls_of(cluster)
        self._of_thread = OfThread(self._url, tls)
        """Kept open: a handshake costs the server more than most requests."""
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
        )

    def watch(self, path: str, *, seconds: int = 1, **query: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the events of a watch, as type and object, once the server has ended it after some seconds."""
        words = urllib.parse.urlencode({"watch": "true", "timeoutSeconds": str(seconds), **query})
        with self._opener.open(f"{self._url}{path}?{words}", timeout=REQUEST_SECONDS) as stream:
            events = [json.loads(line) for line in stream]
        return [(event["type"], event["object"]) for event in events]

    def open(self, path: str) -> Any:
        """Open a stream, to be read line by line and closed; an address of another server is taken as it is."""
        url = path if path.startswith("http") else self._url + path
        return self._opener.open(url, timeout=REQUEST_SECONDS)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        as_type: str = "application/json",
        accept: str = "application/json",
    ) -> Answer:
        """Send one request; answers that refuse are answers too."""
        text = None if body is None else json.dumps(body).encode()
        headers = {"Accept": accept, "Content-Type": as_type}
        kept = self._of_thread.connection
        for is_last in (False, True):
            try:
                kept.request(method, path, body=text, headers=headers)
                answer = kept.getresponse()
                return Answer(code=answer.status, body=json.load(answer))
            except (OSError, http.client.HTTPException) as fault:
                kept.close()
                # The server may have closed the connection since the last request.
                if is_last or not isinstance(fault, ConnectionError):
                    raise
        raise AssertionError("the loop returns or raises")

    @contextmanager
    def nodes(self, *names: str) -> Iterator[None]:
        """Have nodes for pods that a test binds.

        The garbage collector, which runs once a test has started the controllers, removes pods whose node is missing.
        """
        for name in names:
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": True}}
            created = self.send("POST", "/api/v1/nodes", node)
            assert created.code == CREATED, created.body
        yield
        for name in names:
            self.send("DELETE", f"/api/v1/nodes/{name}")

    def create_priority_class(self, name: str, value: int, **more: str) -> None:
        """Create a priority class, and wait until pods may name it: admission reads it by a watch of its own."""
        described = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        created = self.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {**described, "value": value, **more})
        assert created.code == 201, created.body
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"priorityClassName": name, "containers": [{"name": "main", "image": "none"}]},
        }
        deadline = time.monotonic() + REQUEST_SECONDS
        while (answer := self.send("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)).code != CREATED:
            assert time.monotonic() < deadline, answer.body
            time.sleep(0.05)
