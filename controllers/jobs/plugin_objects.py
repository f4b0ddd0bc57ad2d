"""The objects that plugins need beside the pods: made before pods, kept true while the Job lives, gone when it is over.

They are looked at when pods are to be made, and once for each spec; watching every Secret of a cluster for the sake of
ours would be a great right for little use.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyroclast.controllers.jobs.patches import difference
from pyroclast.controllers.jobs.plugins.plugin import Owned, OwnedKey
from pyroclast.controllers.jobs.plugins.registry import plugins_of
from pyroclast.controllers.runtime.store import Key, key_of
from pyroclast.controllers.runtime.writer import NameTakenError, Writer, controlled_by
from pyroclast.kube.errors import ApiError
from pyroclast.kube.resources import CONFIG_MAPS, NETWORK_POLICIES, SECRETS, SERVICES, Resource
from pyroclast.model.api.batch import Job
from pyroclast.model.wire import ObjectMeta

__all__ = ["PluginObjects", "check_owner"]


KINDS: Final[Mapping[str, Resource[Any]]] = {
    each.kind: each for each in (CONFIG_MAPS, NETWORK_POLICIES, SECRETS, SERVICES)
}
"""Kinds of objects that plugins own."""


class PluginObjects:
    """Makes, mends and removes them."""

    def __init__(self, writer: Writer) -> None:
        """Write through `writer`."""
        self._writer = writer
        self._ensured: dict[Key, tuple[str, int]] = {}
        """UID and generation of each Job whose objects were up to date."""

    async def ensure(self, job: Job, *, is_certain: bool) -> None:
        """Create or update the objects.

        Args:
            job: Job that owns the objects.
            is_certain: Check the objects even if they existed at the last check of this process.

        Raises:
            PyroclastError: One could not be made.
        """
        stand = job.metadata.uid, job.metadata.generation
        if not is_certain and self._ensured.get(key_of(job)) == stand:
            return
        for plugin in plugins_of(job):
            existing = await self._existing(job, plugin.keys(job))
            # In a thread: a key pair takes a tenth of a second, and the lease must not wait for it.
            for owned in await asyncio.to_thread(plugin.objects, job, existing):
                await self._make_true(job, owned, existing.get(owned.key))
        self._ensured[key_of(job)] = stand

    async def remove(self, job: Job) -> None:
        """Delete the objects.

        Raises:
            ApiError: One could not be deleted; the others were.
        """
        self.forget(key_of(job))
        refusals = [await self._remove(job, key) for plugin in plugins_of(job) for key in plugin.keys(job)]
        for refusal in filter(None, refusals):
            raise refusal

    async def _remove(self, job: Job, key: OwnedKey) -> ApiError | None:
        """Delete one, if it is there and the Job's; return why the server refuses it."""
        try:
            for found in (await self._existing(job, [key])).values():
                if controlled_by(found, job.metadata.uid):
                    await self._writer.delete(KINDS[key.kind], _metadata(found))
        except ApiError as error:
            return error
        return None

    def forget(self, key: Key) -> None:
        """Remember nothing of a Job."""
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
    """Make sure that an object is the Job's.

    Raises:
        NameTakenError: It is another's.
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
