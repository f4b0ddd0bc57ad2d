"""Writer: idempotent requests that never affect another object of the same name.

A process that is killed between a write and its record repeats the write. Creation returns an existing object. Deletion
and patches carry the UID of their object, and report whether the object was found.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.errors import ApiError, means_another
from pyroclast.kube.api.resources import Resource
from pyroclast.model.errors import PyroclastError
from pyroclast.model.wire import ObjectMeta

__all__ = [
    "Made",
    "NamespaceEndingError",
    "NotLeadingError",
    "Propagation",
    "Writer",
    "controlled_by",
    "means_another",
    "owner_reference",
]

Propagation = Literal["Background", "Foreground", "Orphan"]

_ALREADY_EXISTS: Final = "AlreadyExists"
_TERMINATING: Final = "NamespaceTerminating"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The object with the name after a creation."""

    object: dict[str, Any]
    """The object as stored on the server."""
    is_new: bool
    """Whether this call created the object. An existing object may be of an earlier process: check `controlled_by`."""


class NameTakenError(PyroclastError):
    """A required object cannot be created, because another object has its name.

    Remedy: delete or rename the other object.
    """


class NotLeadingError(PyroclastError):
    """This process may not write any more, because another process may lead. Remedy: start a new process."""


class NamespaceEndingError(PyroclastError):
    """Nothing can be created in a namespace that is being deleted. No remedy is needed."""


class Writer:
    """Writes objects of any kind."""

    def __init__(self, client: Client, *, may_write: Callable[[], bool] = lambda: True) -> None:
        """Create a writer with a client and a check that is called before each write."""
        self._client, self._may_write = client, may_write

    async def create(self, resource: Resource[Any], body: Mapping[str, Any]) -> Made:
        """Create an object, or return the one that has its name.

        Args:
            resource: Its kind, which determines `apiVersion` and `kind`.
            body: The object, with its name in `metadata`.

        Raises:
            NamespaceEndingError: The namespace is being deleted.
            ApiError: The server refused for another reason than an existing name.
        """
        metadata = body["metadata"]
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        namespace = metadata.get("namespace", "")
        try:
            made = await self._send("POST", resource.collection(namespace), body=whole)
        except ApiError as error:
            if any(cause.reason == _TERMINATING for cause in error.causes):
                raise NamespaceEndingError(error.message) from error
            # With `generateName` there is nothing to read: the server picked an existing name.
            if error.reason != _ALREADY_EXISTS or not metadata.get("name"):
                raise
            return Made(object=await self.read(resource, namespace, metadata["name"]), is_new=False)
        return Made(object=made, is_new=True)

    async def read(self, resource: Resource[Any], namespace: str, name: str) -> dict[str, Any]:
        """Read an object from the server.

        Raises:
            ApiError: The server refused. `is_not_found` is true if the object does not exist.
        """
        found: dict[str, Any] = await self._client.request_json("GET", resource.path(namespace, name))
        return found

    async def merge(
        self,
        resource: Resource[Any],
        metadata: ObjectMeta,
        change: Mapping[str, Any],
        *,
        subresource: str = "",
        is_of_version: bool = False,
    ) -> dict[str, Any]:
        """Merge a change into the object that `metadata` identifies.

        Args:
            resource: Its kind.
            metadata: Its identity; the UID is a precondition.
            change: A merge patch: null removes, lists are replaced.
            subresource: `status`, for kinds that have it.
            is_of_version: The version is a precondition too. The write fails if the object has changed meanwhile.

        Returns:
            The resulting object.

        Raises:
            ApiConflictError: The object has changed since.
            ApiError: The server refused. See `means_another` for a deleted object.
        """
        identity: dict[str, Any] = {"uid": metadata.uid}
        if is_of_version:
            identity["resourceVersion"] = metadata.resource_version
        body = {**change, "metadata": {**change.get("metadata", {}), **identity}}
        return await self._patch(resource, metadata, body, MediaType.MERGE_PATCH, subresource)

    async def edit(
        self, resource: Resource[Any], metadata: ObjectMeta, operations: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Apply JSON patch operations to the object that `metadata` identifies.

        Raises:
            ApiError: The server refused, or a `test` among the operations failed (422).
        """
        # Not a `test`, whose failure could not be distinguished from others. A change of an immutable field has a
        # specific error.
        is_meant = {"op": "replace", "path": "/metadata/uid", "value": metadata.uid}
        return await self._patch(resource, metadata, [is_meant, *operations], MediaType.JSON_PATCH, "")

    async def delete(
        self,
        resource: Resource[Any],
        metadata: ObjectMeta,
        *,
        propagation: Propagation = "Background",
        is_of_version: bool = False,
        grace_seconds: int | None = None,
    ) -> bool:
        """Delete the object that `metadata` identifies.

        Returns:
            Whether the object existed. False if another object has its name now.

        Raises:
            ApiConflictError: With `is_of_version`, if the object has changed since it was read.
            ApiError: The server refused.
        """
        preconditions = {"uid": metadata.uid}
        if is_of_version:
            preconditions["resourceVersion"] = metadata.resource_version
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": preconditions,
        }
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        try:
            await self._send("DELETE", resource.path(metadata.namespace, metadata.name), body=body)
        except ApiError as error:
            if error.is_not_found:
                return False
            if error.status == 409 and not is_of_version:
                return False  # the UID is the only precondition: another object has the name now
            raise
        return True

    async def _patch(
        self, resource: Resource[Any], metadata: ObjectMeta, body: object, media_type: MediaType, subresource: str
    ) -> dict[str, Any]:
        path = resource.path(metadata.namespace, metadata.name, subresource)
        answer: dict[str, Any] = await self._send("PATCH", path, body=body, media_type=media_type)
        return answer

    async def _send(self, method: str, path: str, *, body: object, **options: Any) -> Any:
        # A process that was suspended for a minute may continue prepared requests while another process leads.
        if not self._may_write():
            raise NotLeadingError(f"{method} {path}: not sent, another process may lead by now")
        return await self._client.request_json(method, path, body=body, **options)


def owner_reference(resource: Resource[Any], metadata: ObjectMeta) -> dict[str, Any]:
    """Return the owner reference of a controller. Its objects are deleted with it."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controlled_by(item: Mapping[str, Any], uid: str) -> bool:
    """Return whether an object has the controller with this UID."""
    owners = item["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == uid for owner in owners)
