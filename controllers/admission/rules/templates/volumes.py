"""Volumes: valid names, and one source each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.names import DNS_LABEL, is_dns_label

__all__ = ["volume_faults"]

_SOURCES: Final = frozenset(
    {
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "gitRepo",
        "glusterfs",
        "hostPath",
        "image",
        "iscsi",
        "nfs",
        "persistentVolumeClaim",
        "photonPersistentDisk",
        "portworxVolume",
        "projected",
        "quobyte",
        "rbd",
        "scaleIO",
        "secret",
        "storageos",
        "vsphereVolume",
    }
)


def volume_faults(volumes: Sequence[Mapping[str, Any]], field: str) -> Iterator[Fault]:
    """Find the faults of volumes. A volume without a source is an empty directory, as in Kubernetes."""
    names: set[str] = set()
    for number, volume in enumerate(volumes):
        place, name = f"{field}[{number}]", volume.get("name")
        if not isinstance(name, str) or not name:
            yield Fault(field=f"{place}.name", value=name, rule="Required value", expected=DNS_LABEL)
        elif not is_dns_label(name):
            yield Fault(field=f"{place}.name", value=name, expected=DNS_LABEL, rule="this is no DNS label")
        elif name in names:
            yield Fault(field=f"{place}.name", value=name, rule="Duplicate value")
        else:
            names.add(name)
        sources = sorted(_SOURCES.intersection(volume))
        if len(sources) > 1:
            yield Fault(
                field=place, value=sources, expected="one of them", rule="may not specify more than 1 volume type"
            )
        claim = volume.get("persistentVolumeClaim")
        if isinstance(claim, Mapping) and not claim.get("claimName"):
            yield Fault(field=f"{place}.persistentVolumeClaim.claimName", rule="Required value", expected="a claim")
