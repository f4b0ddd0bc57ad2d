"""Objects of plugins: created before the pods, kept up to date while the Job runs, and deleted at its end.

They are checked before pods are created, and once for each spec. They are not watched, because this would need the
right to read all Secrets of the cluster.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyroclast.controllers.jobs.patches import difference
from pyroclast.controllers.jobs.plugins.plugin import Owned, OwnedKey
from pyroclast.controllers.jobs.plugins.registry import plugins_of
from pyroclast.controllers.runtime.store import Key, key_of
from pyroclast.controllers.runtime.writer import NameTakenError, Writer, controlled_by
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import CONFIG_MAPS, NETWORK_POLICIES, SECRETS, SERVICES, Resource
from pyroclast.model.api.batch import Job
from pyroclast.model.wire import ObjectMeta

__all__ = ["PluginObjects", "check_owner"]


KINDS: Final[Mapping[str, Resource[Any]]] = {
    each.kind: each for each in (CONFIG_MAPS, NETWORK_POLICIES, SECRETS, SERVICES)
}
"""Kinds of objects that plugins own."""


class PluginObjects:
    """Creates, updates and deletes the objects of plugins."""

    def __init__(self, writer: Writer) -> None:
        """Use `writer` for all requests."""
        self._writer = writer
        self._ensured: dict[Key, tuple[str, int]] = {}
        """UID and generation of each Job whose objects were up to date."""

    async def ensure(self, job: Job, *, is_certain: bool) -> None:
        """Create or update the objects.

        Args:
            job: Job that owns the objects.
            is_certain: Check the objects even if this process has checked them for this spec.

        Raises:
            PyroclastError: An object could not be created.
        """
        stand = job.metadata.uid, job.metadata.generation
        if not is_certain and self._ensured.get(key_of(job)) == stand:
            return
        for plugin in plugins_of(job):
            existing = await self._existing(job, plugin.keys(job))
            # In a thread, because a key pair takes a tenth of a second and would delay the renewal of the lease.
            for owned in await asyncio.to_thread(plugin.objects, job, existing):
                await self._make_true(job, owned, existing.get(owned.key))
        self._ensured[key_of(job)] = stand

    async def remove(self, job: Job) -> None:
        """Delete the objects.

        Raises:
            ApiError: An object could not be deleted. The others were processed.
        """
        self.forget(key_of(job))
        refusals = [await self._remove(job, key) for plugin in plugins_of(job) for key in plugin.keys(job)]
        for refusal in filter(None, refusals):
            raise refusal

    async def _remove(self, job: Job, key: OwnedKey) -> ApiError | None:
        """Delete an object if it belongs to the Job. Return the error if the server refuses."""
        try:
            for found in (await self._existing(job, [key])).values():
                if controlled_by(found, job.metadata.uid):
                    await self._writer.delete(KINDS[key.kind], _metadata(found))
        except ApiError as error:
            return error
        return None

    def forget(self, key: Key) -> None:
        """Drop the record of a deleted Job."""
        self._ensured.pop(key, None)

    async def _existing(self, job: Job, keys: Sequence[OwnedKey]) -> dict[OwnedKey, dict[str, Any]]:
        existing: dict[OwnedKey, dict[str, Any]] = {}
        for key in keys:
            try:
                existing[key] = await self._writer.read(KINDS[key.kind], job.metadata.namespace, key.name)
            except ApiError as error:
                if not error.is_not_found:
                    raise
        return existing

    async def _make_true(self, job: Job, owned: Owned, found: dict[str, Any] | None) -> None:
        kind = KINDS[owned.key.kind]
        if found is None:
            found = (await self._writer.create(kind, owned.manifest)).object
        check_owner(job, found)
        change = difference(found.get("data") or {}, owned.manifest.get("data") or {})
        if owned.is_kept_true and change:
            await self._writer.merge(kind, _metadata(found), {"data": change})


def check_owner(job: Job, made: Mapping[str, Any]) -> None:
    """Check that an object belongs to the Job.

    Raises:
        NameTakenError: The object belongs to another owner.
    """
    if not controlled_by(made, job.metadata.uid):
        what, name = made.get("kind", "object"), made["metadata"]["name"]
        raise NameTakenError(f"{what} {name} is there already, and is not of this Job")


def _metadata(found: Mapping[str, Any]) -> ObjectMeta:
    metadata = found["metadata"]
    return ObjectMeta(
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
    )
