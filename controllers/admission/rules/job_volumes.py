"""Volumes of a Job: a unique mount path and one claim each."""

from collections.abc import Iterator, Sequence

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.names import DNS_SUBDOMAIN, is_dns_subdomain
from pyroclast.model.api.batch import VolumeSpec

__all__ = ["volume_faults"]


def volume_faults(volumes: Sequence[VolumeSpec], field: str) -> Iterator[Fault]:
    """Find the faults of the volumes of a Job."""
    paths: set[str] = set()
    for number, volume in enumerate(volumes):
        place, path = f"{field}[{number}]", volume.mount_path
        if not path:
            yield Fault(field=f"{place}.mountPath", expected="a path in the containers", rule="mountPath is required")
        elif path in paths:
            yield Fault(field=f"{place}.mountPath", value=path, rule=f"duplicated mountPath: {path}")
        paths.add(path)
        yield from _claim_faults(volume, place)


def _claim_faults(volume: VolumeSpec, field: str) -> Iterator[Fault]:
    name = volume.volume_claim_name
    if volume.volume_claim is None and not name:
        yield Fault(field=field, rule="either VolumeClaim or VolumeClaimName must be specified")
    elif volume.volume_claim is not None and name:
        yield Fault(
            field=f"{field}.volumeClaimName",
            value=name,
            expected="none beside a volumeClaim",
            rule="conflict: If you want to use an existing PVC, just specify VolumeClaimName."
            "If you want to create a new PVC, you do not need to specify VolumeClaimName",
        )
    elif name and not is_dns_subdomain(name):
        yield Fault(
            field=f"{field}.volumeClaimName",
            value=name,
            expected=DNS_SUBDOMAIN,
            rule=f"invalid VolumeClaimName {name}",
        )
