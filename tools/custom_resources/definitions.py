"""The CustomResourceDefinition of a kind, and the text of its file."""

from typing import Any

import yaml

from pyroclast.model.api.definitions import Definition, KubernetesObject, PrinterColumn
from tools.custom_resources.schemas import Schema, schema_of_struct

__all__ = ["definition_of", "file_name", "text_of"]

_HEAD = "# Made from model/api by `make crds`: change it there.\n"
_WIDTH = 118

_KEEP = {"helm.sh/resource-policy": "keep"}
"""Removal of the chart must not delete every queue and job of the cluster."""
_OURS = {"app.kubernetes.io/part-of": "pyroclast"}
"""Label that selects our definitions for removal (see the chart's notes); those of a Volcano installation stay.
"""

_EVERY_OBJECT: Schema = {
    "apiVersion": {"description": "Version of the schema that this object follows.", "type": "string"},
    "kind": {"description": "Kind of the object.", "type": "string"},
    "metadata": {"type": "object"},
}


def file_name(kind: type[KubernetesObject]) -> str:
    """Return the name of the file with a kind's definition."""
    return f"{kind.definition.group}_{kind.definition.plural}.yaml"


def definition_of(kind: type[KubernetesObject]) -> dict[str, Any]:
    """Return the definition of a kind."""
    definition = kind.definition
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition.name, "labels": _OURS, "annotations": _annotations(definition)},
        "spec": {
            "group": definition.group,
            "names": {
                "kind": definition.kind,
                "listKind": f"{definition.kind}List",
                "plural": definition.plural,
                "singular": definition.kind.lower(),
                **({"shortNames": list(definition.short_names)} if definition.short_names else {}),
            },
            "scope": "Namespaced" if definition.is_namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def _annotations(definition: Definition) -> dict[str, str]:
    return {"api-approved.kubernetes.io": definition.approval, **_KEEP} if definition.approval else _KEEP


def _version(kind: type[KubernetesObject]) -> dict[str, Any]:
    definition = kind.definition
    columns = [_column(column) for column in definition.columns]
    return {
        "name": definition.version,
        "served": True,
        "storage": True,
        **({"subresources": {"status": {}}} if definition.has_status_subresource else {}),
        **({"additionalPrinterColumns": columns} if columns else {}),
        "schema": {"openAPIV3Schema": _root(kind)},
    }


def _column(column: PrinterColumn) -> dict[str, Any]:
    priority = {"priority": 1} if column.is_wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **priority}


def _root(kind: type[KubernetesObject]) -> Schema:
    """Return the schema of whole objects; the API server adds the schema of metadata and requires it itself."""
    schema = schema_of_struct(kind)
    required = [name for name in schema.pop("required", []) if name != "metadata"]
    properties = {
        **_EVERY_OBJECT,
        **{name: part for name, part in schema.pop("properties").items() if name != "metadata"},
    }
    return {**schema, **({"required": required} if required else {}), "properties": properties}


class _Dumper(yaml.SafeDumper):
    """Indents the items of lists, and writes repeated parts out without YAML aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - its signature
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - its signature
        return True


def text_of(kind: type[KubernetesObject]) -> str:
    """Return the text of a kind's file. It depends on the structs only."""
    return _HEAD + yaml.dump(definition_of(kind), Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True)
