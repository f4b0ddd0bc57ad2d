"""Volume claims of a Job: claims to create, and existing claims to wait for.

The name of a claim to create is derived from the Job and the entry, so that a repeated creation finds the same claim.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pyroclast.controllers.runtime.writer import owner_reference
from pyroclast.kube.api.resources import JOBS, PERSISTENT_VOLUME_CLAIMS
from pyroclast.model.api.batch import Job

__all__ = ["RECORD", "ClaimPlan", "claim_name", "claims_of", "without_made_names"]

RECORD: Final = "volume-pvc-"
"""Prefix of the entries of `status.controlledResources` that name claims."""
_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_TAIL: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPlan:
    """One claim of a Job."""

    entry: int
    """Index in `spec.volumes`."""
    name: str
    manifest: dict[str, Any] | None = None
    """The claim to create. None if the claim must exist."""
    is_named: bool = True
    """Whether the entry contains the name."""


def claim_name(job: Job, entry: int) -> str:
    """Return the name of the claim that is created for a volume of a Job."""
    number = int.from_bytes(hashlib.sha256(f"{job.metadata.uid}/{entry}".encode()).digest())
    return f"{job.metadata.name}-pvc-{''.join(_BASE36[number // 36**place % 36] for place in range(_TAIL))}"


def claims_of(job: Job) -> Iterator[ClaimPlan]:
    """Yield the claims of a Job. Admission refuses entries that have neither a name nor a spec."""
    for entry, volume in enumerate(job.spec.volumes):
        made = claim_name(job, entry)
        if volume.volume_claim is not None and volume.volume_claim_name in {"", made}:
            yield ClaimPlan(
                entry=entry,
                name=made,
                manifest=_manifest(job, made, volume.volume_claim),
                is_named=bool(volume.volume_claim_name),
            )
        elif volume.volume_claim_name:
            yield ClaimPlan(entry=entry, name=volume.volume_claim_name)


def without_made_names(job: Job) -> Job:
    """Return the Job without the claim names that this controller, or Volcano's, added."""
    is_made = re.compile(rf"{re.escape(job.metadata.name)}-pvc-[0-9a-z]{{{_TAIL}}}").fullmatch
    volumes = tuple(
        msgspec.structs.replace(volume, volume_claim_name="")
        if volume.volume_claim is not None and is_made(volume.volume_claim_name)
        else volume
        for volume in job.spec.volumes
    )
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, volumes=volumes))


def _manifest(job: Job, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": PERSISTENT_VOLUME_CLAIMS.api_version,
        "kind": PERSISTENT_VOLUME_CLAIMS.kind,
        "metadata": {
            "name": name,
            "namespace": job.metadata.namespace,
            "ownerReferences": [owner_reference(JOBS, job.metadata)],
        },
        "spec": spec,
    }
