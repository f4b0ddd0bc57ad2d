"""API requests of one command. Errors are printed in kubectl's words."""

import argparse
import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.errors import ApiError, NoAnswerError
from pyroclast.kube.api.resources import COMMANDS, Resource
from pyroclast.model.api.bus import Command, LifecycleAction
from pyroclast.model.api.meta import ObjectMeta, OwnerReference
from pyroclast.model.errors import ObjectError, PyroclastError
from pyroclast.scheduler.cli.commands.vcctl.flags import print_error
from pyroclast.scheduler.cli.commands.vcctl.output_formats import Object

__all__ = ["CommandClient", "connected", "run_command"]

T = TypeVar("T")

_PAGE = 500
_FAILED = 1
_INVALID = re.compile(r'^(?P<kind>\w+)\S* "(?P<name>.*)" is invalid')
_NO_SUCH_KIND = "the server could not find the requested resource"
_REFUSED = ("ConnectionRefused", "Cannot connect to host")


class CommandClient:
    """API client of one command."""

    def __init__(self, client: Client, namespace: str) -> None:
        """Send requests through `client`. `namespace` applies to namespaced kinds; if empty, to all namespaces."""
        self._client = client
        self.namespace = namespace
        self.status = 0
        """Exit status so far; 1 after an error."""

    def place(self, resource: Resource[Any]) -> str:
        """Return the namespace for a kind; empty for a cluster-scoped kind."""
        return self.namespace if resource.is_namespaced else ""

    async def all_of(
        self, resource: Resource[Any], *, namespace: str | None = None, selector: str = ""
    ) -> list[Object]:
        """List objects; the default namespace is that of the flags."""
        path = resource.collection(self.place(resource) if namespace is None else namespace)
        found: list[Object] = []
        token = ""
        while True:
            params = {"limit": str(_PAGE)}
            params |= {"labelSelector": selector} if selector else {}
            params |= {"continue": token} if token else {}
            page = await self._client.request_json("GET", path, params=params)
            found.extend(page.get("items") or ())
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return [{"apiVersion": resource.api_version, "kind": resource.kind, **each} for each in found]

    async def get(self, resource: Resource[Any], name: str) -> Object:
        """Read one object."""
        found: Object = await self._client.request_json("GET", resource.path(self.place(resource), name))
        return found

    async def create(self, resource: Resource[Any], body: Object, *, namespace: str | None = None) -> Object:
        """Create one object."""
        path = resource.collection(self.place(resource) if namespace is None else namespace)
        made: Object = await self._client.request_json("POST", path, body=body)
        return made

    async def delete(self, resource: Resource[Any], name: str) -> None:
        """Delete one object. Its dependents are deleted in the background."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        await self._client.request_json("DELETE", resource.path(self.place(resource), name), body=body)

    async def command(self, resource: Resource[Any], name: str, action: LifecycleAction) -> None:
        """Create a LifecycleAction for an object; the controllers carry it out."""
        target = await self.get(resource, name)
        metadata = target["metadata"]
        owner = OwnerReference(
            api_version=resource.api_version,
            kind=resource.kind,
            name=metadata["name"],
            uid=metadata["uid"],
            controller=True,
            block_owner_deletion=True,
        )
        namespace = metadata.get("namespace") or "default"
        command = Command(
            metadata=ObjectMeta(
                generate_name=f"{metadata['name']}-{action.lower()}-", namespace=namespace, owner_references=(owner,)
            ),
            target=owner,
            action=action,
        )
        await self.create(COMMANDS, command.as_json(), namespace=namespace)

    async def each(self, resource: Resource[Any], items: Iterable[T], act: Callable[[T], Awaitable[None]]) -> None:
        """Call `act` for each name or object. An error is printed and does not stop the others."""
        for item in items:
            try:
                await act(item)
            except ApiError as error:
                self.fail(resource, error)

    def fail(self, resource: Resource[Any], error: ApiError) -> None:
        """Print an error."""
        print_error(in_kubectls_words(error, server=self._client.cluster.server, plural=resource.plural))
        self.status = _FAILED

    def decoded(self, resource: Resource[T], objects: Iterable[Object]) -> list[T]:
        """Decode objects for a table. An object that cannot be decoded is left out with a warning."""
        found = []
        for each in objects:
            try:
                found.append(resource.decoder.convert(each))
            except ObjectError as error:
                print_error(f"warning: {error}")
                self.status = _FAILED
        return found


def run_command(
    given: argparse.Namespace, resource: Resource[Any], act: Callable[[CommandClient], Awaitable[None]]
) -> int:
    """Connect as the flags specify, run the command, and return the exit status."""
    try:
        return asyncio.run(_run_command(given, resource, act))
    except PyroclastError as error:
        print_error(f"error: {error}")
        return _FAILED


async def _run_command(
    given: argparse.Namespace, resource: Resource[Any], act: Callable[[CommandClient], Awaitable[None]]
) -> int:
    async with connected(given) as client:
        try:
            await act(client)
        except ApiError as error:
            client.fail(resource, error)
        return client.status


@asynccontextmanager
async def connected(given: argparse.Namespace) -> AsyncIterator[CommandClient]:
    """Connect as the flags specify."""
    cluster = await connect(ClusterOptions(kubeconfig=given.kubeconfig, context=given.context, master=given.server))
    is_everywhere = getattr(given, "all_namespaces", False)
    namespace = "" if is_everywhere else getattr(given, "namespace", "") or cluster.namespace or "default"
    async with Client(cluster, component="pyroclast") as client:
        yield CommandClient(client, namespace)


def in_kubectls_words(error: ApiError, *, server: str, plural: str) -> str:
    """Return the message for a failed request.

    Args:
        error: The error.
        server: Address of the API server.
        plural: The requested kind.
    """
    if isinstance(error, NoAnswerError):
        if any(word in error.message for word in _REFUSED):
            host = server.partition("://")[2]
            return f"The connection to the server {host} was refused - did you specify the right host or port?"
        return f"Unable to connect to the server: {error.message}"
    if error.is_not_found and (_NO_SUCH_KIND in error.message or error.reason == "Unknown"):
        return f'error: the server doesn\'t have a resource type "{plural}"'
    invalid = _INVALID.match(error.message) if error.reason == "Invalid" else None
    if invalid is not None and error.causes:
        return _invalid(f'The {invalid["kind"]} "{invalid["name"]}" is invalid:', error)
    reason = "" if error.reason in {"", "Unknown"} else f" ({error.reason})"
    return f"Error from server{reason}: {error.message}"


def _invalid(head: str, error: ApiError) -> str:
    faults = [f"{cause.field}: {cause.message}" for cause in error.causes]
    return f"{head} {faults[0]}" if len(faults) == 1 else "\n* ".join([f"{head} ", *faults])
