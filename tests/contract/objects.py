"""Objects that a structural schema allows, made by hypothesis."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["Schema", "objects", "values"]

Schema = dict[str, Any]

FEW = 2
"""Most items of a list or map: enough to see that order and number survive."""

WORDS = st.from_regex(r"[a-z]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True)
MOMENTS = st.datetimes().map(lambda moment: f"{moment.replace(microsecond=0).isoformat()}Z")
QUANTITIES = st.one_of(st.integers(0, 1000), st.from_regex(r"[1-9][0-9]{0,3}(m|Ki|Mi|Gi|k|M)?", fullmatch=True))
ANYTHING = st.recursive(
    st.one_of(st.booleans(), st.integers(-9, 9), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=FEW), st.dictionaries(WORDS, inner, max_size=FEW)),
    max_leaves=5,
)
RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**53), 2**53)}


def objects(definition: dict[str, Any], name: str = "made") -> SearchStrategy[dict[str, Any]]:
    """Return what makes objects of a kind that its definition allows."""
    spec = definition["spec"]
    (version,) = spec["versions"]
    root = version["schema"]["openAPIV3Schema"]
    own = {key: part for key, part in root["properties"].items() if key not in {"apiVersion", "kind", "metadata"}}
    head = {
        "apiVersion": f"{spec['group']}/{version['name']}",
        "kind": spec["names"]["kind"],
        "metadata": {"name": name},
    }
    return values({**root, "properties": own}).map(lambda body: {**head, **body})


def values(schema: Schema) -> SearchStrategy[Any]:
    """Return what makes values that a schema allows."""
    if schema.get("x-kubernetes-int-or-string"):
        return QUANTITIES
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return st.dictionaries(WORDS, ANYTHING, max_size=FEW)
    if schema["type"] == "object":
        return _members(schema)
    if schema["type"] == "array":
        return st.lists(values(schema["items"]), min_size=schema.get("minItems", 0), max_size=FEW)
    if schema["type"] == "string":
        return _texts(schema)
    return st.booleans() if schema["type"] == "boolean" else _integers(schema)


def _members(schema: Schema) -> SearchStrategy[Any]:
    if "additionalProperties" in schema:
        return st.dictionaries(WORDS, values(schema["additionalProperties"]), max_size=FEW)
    parts = {name: values(part) for name, part in schema.get("properties", {}).items()}
    alone = exclusive_members(schema)
    if alone:
        return st.one_of(*(st.fixed_dictionaries({name: parts[name]}) for name in alone))
    required = set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: parts[name] for name in sorted(required)},
        optional={name: part for name, part in parts.items() if name not in required},
    )


def exclusive_members(schema: Schema) -> list[str]:
    """Return the members of which exactly one must be there: the only rule in CEL that our schemas have."""
    return sorted(schema["properties"]) if "x-kubernetes-validations" in schema else []


def _texts(schema: Schema) -> SearchStrategy[str]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("format") == "date-time":
        return MOMENTS
    # All patterns are those of names and words, or forbid a colon.
    return WORDS


def _integers(schema: Schema) -> SearchStrategy[int]:
    least, most = RANGES.get(schema.get("format", ""), (-(2**31), 2**31 - 1))
    return st.integers(max(least, schema.get("minimum", least)), min(most, schema.get("maximum", most)))
