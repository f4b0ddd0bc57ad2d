"""Defaults of small built-in kinds, as far as `kubectl get` or a controller reads them."""

import base64
import ipaddress
import uuid
from typing import Any, Final

from pyroclast.emulator.operations.strategies import Context, Strategy, section
from pyroclast.emulator.trees import items_at, value_at

__all__ = ["JobStrategy", "SecretStrategy", "ServiceStrategy", "VolumeStrategy"]

Object = dict[str, Any]

_SERVICE_ADDRESSES: Final = ipaddress.ip_network("10.96.0.0/12")
_JOB_LABELS: Final = "batch.kubernetes.io/"


class SecretStrategy(Strategy):
    """A type, and text as data."""

    def fill(self, tree: Object, context: Context) -> None:
        """Encode `stringData`, which is for writing alone."""
        del context
        tree.setdefault("type", "Opaque")
        texts = tree.pop("stringData", None)
        if isinstance(texts, dict) and texts:
            section(tree, "data").update(
                {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
            )


class ServiceStrategy(Strategy):
    """A type, protocols, and an address."""

    def fill(self, tree: Object, context: Context) -> None:
        """Set defaults; an address follows from the UID, so that a service keeps it."""
        del context
        spec = section(tree, "spec")
        spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        for port in items_at(spec, "ports"):
            if isinstance(port, dict):
                port.setdefault("protocol", "TCP")
                port["targetPort"] = port.get("targetPort") or port.get("port")
        if spec["type"] == "ExternalName":
            return
        spec["clusterIP"] = spec.get("clusterIP") or _address(tree["metadata"]["uid"])
        spec.setdefault("clusterIPs", [spec["clusterIP"]])


class VolumeStrategy(Strategy):
    """Volumes and claims to them: they wait for a controller to bind them."""

    def __init__(self, **defaults: str) -> None:
        """Take further defaults of the specification."""
        self._defaults = {"volumeMode": "Filesystem", **defaults}

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Begin as pending."""
        super().prepare_create(tree, context)
        tree["status"] = {"phase": "Pending"}

    def fill(self, tree: Object, context: Context) -> None:
        """Set defaults."""
        del context
        for key, value in self._defaults.items():
            section(tree, "spec").setdefault(key, value)


class JobStrategy(Strategy):
    """A selector, and the labels that it selects."""

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Have a Job's pods carry its UID, unless its user sees to that."""
        super().prepare_create(tree, context)
        spec, metadata = section(tree, "spec"), tree["metadata"]
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        if spec.get("manualSelector") is True or value_at(spec, "selector") is not None:
            return
        uid, name = metadata["uid"], metadata.get("name", "")
        spec["selector"] = {"matchLabels": {f"{_JOB_LABELS}controller-uid": uid}}
        labels = section(section(section(spec, "template"), "metadata"), "labels")
        for prefix in ("", _JOB_LABELS):
            labels.setdefault(f"{prefix}controller-uid", uid)
            labels.setdefault(f"{prefix}job-name", name)

    def prepare_update(self, new: Object, old: Object, context: Context) -> None:
        """Keep the selector where an update leaves it out."""
        super().prepare_update(new, old, context)
        selector = value_at(old, "spec", "selector")
        if selector is not None:
            section(new, "spec").setdefault("selector", selector)


def _address(uid: str) -> str:
    """Pick an address of the range; the first is the API server's own."""
    number = uuid.UUID(uid).int % (_SERVICE_ADDRESSES.num_addresses - 3)
    return str(_SERVICE_ADDRESSES[2 + number])
