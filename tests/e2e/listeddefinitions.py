"""Volcano's own definitions of its kinds, built from the list of their fields: what its installation leaves behind.

They serve what the list has and drop everything else, with the subresources of the list; nothing of `config/crd` is
in them.
"""

from pathlib import Path
from typing import Any

__all__ = ["listed_definitions"]

LIST = Path(__file__).parents[1] / "contract" / "crd-fields.tsv"
NUMBERS = ("minimum", "maximum", "maxLength")

Schema = dict[str, Any]


def listed_definitions() -> list[dict[str, Any]]:
    """Return the definition of each kind of Volcano's in the list."""
    lines = [line.split("\t") for line in LIST.read_text().splitlines() if not line.startswith("#")]
    heads = [cells for cells in lines if cells[0].startswith("@") and cells[1].endswith(".volcano.sh")]
    return [definition_of(head, [cells for cells in lines if cells[0] == head[0].removeprefix("@")]) for head in heads]


def definition_of(head: list[str], fields: list[list[str]]) -> dict[str, Any]:
    """Build a definition from the kind's own line and those of its fields."""
    kind, group, version, scope, plural, short_names, subresources, _ = (*head, *[""] * 8)[:8]
    kind = kind.removeprefix("@")
    root: Schema = {"type": "object", "properties": {}}
    for _, _, path, type_, *constraints in fields:
        put(root, path, type_, constraints[0] if constraints else "")
    names: dict[str, Any] = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    if short_names:
        names["shortNames"] = short_names.split(",")
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
        "subresources": {name: {} for name in subresources.split(",") if name},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [served]},
    }


def put(root: Schema, path: str, type_: str, constraints: str) -> None:
    """Add a field to the schema of its kind; those above it are there already."""
    *above, last = path.replace("[]", ".[]").replace("{}", ".{}").split(".")
    parent = root
    for name in above:
        parent = within(parent, name)
    schema = schema_of(type_)
    for constraint in filter(None, constraints.split("; ")):
        keyword, _, value = constraint.partition("=")
        if keyword == "required":
            parent.setdefault("required", []).append(last)
        else:
            schema[keyword] = value_of(keyword, value, type_)
    match last:
        case "[]":
            parent["items"] = schema
        case "{}":
            parent["additionalProperties"] = schema
        case _:
            parent.setdefault("properties", {})[last] = schema
    if last == "template":  # the list does not descend into pod templates
        schema["x-kubernetes-preserve-unknown-fields"] = True


def within(parent: Schema, name: str) -> Schema:
    """Return what stands under a name of a schema."""
    match name:
        case "[]":
            found = parent["items"]
        case "{}":
            found = parent["additionalProperties"]
        case _:
            found = parent["properties"][name]
    schema: Schema = found
    return schema


def schema_of(type_: str) -> Schema:
    """Return the bare schema of a type of the list."""
    if type_ == "int-or-string":
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    return {"type": type_}


def value_of(keyword: str, value: str, type_: str) -> object:
    """Read a constraint's value."""
    if keyword == "enum":
        return value.split("|")
    if keyword in NUMBERS or (keyword == "default" and type_ == "integer"):
        return int(value)
    return value == "true" if type_ == "boolean" else value
