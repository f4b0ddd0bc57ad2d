"""What a kind is called, how it is listed, and what all kinds can do."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec

from pyroclast.model.api.meta import ObjectMeta, Wire

__all__ = ["AGE", "Definition", "KubernetesObject", "PrinterColumn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """A column of `kubectl get`."""

    name: str
    path: str
    """Where the value stands, as JSONPath."""
    type: str = "string"
    is_wide: bool = False
    """Shown with `-o wide` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Names and traits of a kind."""

    api_version: str
    kind: str
    plural: str
    short_names: tuple[str, ...] = ()
    is_namespaced: bool = True
    has_status_subresource: bool = True
    columns: tuple[PrinterColumn, ...] = ()
    approval: str = ""
    """Where the API was approved: Kubernetes asks for it in groups whose name ends in `k8s.io`."""

    @property
    def group(self) -> str:
        """The API group."""
        return self.api_version.partition("/")[0]

    @property
    def version(self) -> str:
        """The version inside the group."""
        return self.api_version.partition("/")[2]

    @property
    def name(self) -> str:
        """Name of the definition, as in `kubectl get crd`."""
        return f"{self.plural}.{self.group}"


AGE: Final = PrinterColumn(name="AGE", path=".metadata.creationTimestamp", type="date")


class KubernetesObject(Wire, frozen=True, kw_only=True):
    """Base of the kinds."""

    definition: ClassVar[Definition]
    metadata: ObjectMeta

    def as_json(self) -> dict[str, Any]:
        """Return the object as it is sent to the API server, with its kind and without what is at its default."""
        return {
            "apiVersion": self.definition.api_version,
            "kind": self.definition.kind,
            **msgspec.to_builtins(self),
        }
