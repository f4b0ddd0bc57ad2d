"""`config/crd/` says what `crd-fields.tsv` lists: the same kinds, names, columns, fields, types and limits."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

CRD_FOLDER = Path(__file__).parents[2] / "config" / "crd"
LIST = Path(__file__).with_name("crd-fields.tsv")

CONSTRAINTS = ("format", "enum", "default", "minimum", "maximum", "maxLength", "pattern")
"""Keywords the list has a say in."""

STRUCTURE = ("description", "type", "properties", "items", "additionalProperties", "required")
"""Keywords that the flattening itself turns into rows."""

QUANTITY = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
"""How structural schemas write a value that is a number or a string."""

JOB_SPECS = {
    "Job": "spec",
    "JobTemplate": "spec",
    "CronJob": "spec.jobTemplate.spec",
    "JobFlow": "spec.flows[].patch.jobSpec",
}
"""Where each kind keeps the same job."""

WHOLE = {"x-kubernetes-map-type": "atomic"}
WHOLE_LIST = {"x-kubernetes-list-type": "atomic"}
"""What server-side apply takes as one value."""


def selector_additions(path: str) -> dict[str, dict[str, Any]]:
    """Return what is added to a label selector."""
    terms = f"{path}.matchExpressions"
    return {path: WHOLE, terms: WHOLE_LIST, f"{terms}[].values": WHOLE_LIST}


JOB_ADDITIONS: dict[str, dict[str, Any]] = {
    ".tasks": {"minItems": 1},
    ".tasks[].template": {"x-kubernetes-preserve-unknown-fields": True},
    ".volumes[].mountPath": {"minLength": 1},
    ".volumes[].volumeClaim.accessModes": WHOLE_LIST,
    ".volumes[].volumeClaim.dataSource": WHOLE,
    **selector_additions(".volumes[].volumeClaim.selector"),
}

ADDITIONS: dict[tuple[str, str], dict[str, Any]] = {
    ("Command", "target"): WHOLE,
    ("CronJob", "status.active"): WHOLE_LIST,
    ("CronJob", "status.active[]"): WHOLE,
    **{("ElasticQuotaProfile", path): addition for path, addition in selector_additions("spec.nodeSelector").items()},
    ("Device", "spec.devices[].conditions[].reason"): {"minLength": 1},
    ("HyperNode", "spec.members"): {"minItems": 1},
    ("HyperNode", "spec.members[].selector"): {
        "x-kubernetes-validations": [
            {
                "rule": "has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",
                "message": "one of exactMatch, regexMatch and labelMatch must be given",
            },
            {
                "rule": "(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0)"
                " + (has(self.labelMatch) ? 1 : 0) <= 1",
                "message": "only one of exactMatch, regexMatch and labelMatch may be given",
            },
        ]
    },
    ("HyperNode", "spec.members[].selector.exactMatch.name"): {"minLength": 1},
    ("HyperNode", "spec.members[].selector.regexMatch.pattern"): {"minLength": 1},
    ("HyperNode", "status.conditions[].reason"): {"minLength": 1},
    ("JobFlow", "spec.flows[].name"): {"minLength": 1},
    ("PodGroup", "spec.subGroupPolicy[].matchLabelKeys"): WHOLE_LIST,
    ("Reservation", "spec.owners"): {"minItems": 1},
    ("Reservation", "spec.owners[].controller"): WHOLE,
    ("Reservation", "spec.owners[].object"): WHOLE,
    ("Reservation", "spec.template"): {"x-kubernetes-preserve-unknown-fields": True},
    ("Reservation", "status.currentOwners[]"): WHOLE,
    **{
        (kind, path): extra
        for kind, place in (
            ("HyperNode", "spec.members[].selector.labelMatch"),
            ("PodGroup", "spec.subGroupPolicy[].labelSelector"),
            ("Reservation", "spec.owners[].labelSelector"),
        )
        for path, extra in selector_additions(place).items()
    },
    **{(kind, prefix + path): extra for kind, prefix in JOB_SPECS.items() for path, extra in JOB_ADDITIONS.items()},
}
"""What our schemas say beyond the list, all of it: documented behaviour that the list's columns cannot hold."""


OWN_COLUMNS = {
    "CronJob": "SCHEDULE:.spec.schedule | SUSPEND:.spec.suspend | LAST SCHEDULE:.status.lastScheduleTime"
    " | AGE:.metadata.creationTimestamp"
}
"""Columns of a kind for which the list has none."""


def load_definitions() -> dict[str, dict[str, Any]]:
    """Read every definition, by kind."""
    definitions = [yaml.safe_load(path.read_text()) for path in sorted(CRD_FOLDER.glob("*.yaml"))]
    return {definition["spec"]["names"]["kind"]: definition for definition in definitions}


DEFINITIONS = load_definitions()


def listed_lines() -> list[list[str]]:
    """Split the list into cells, comments left out."""
    return [line.split("\t") for line in LIST.read_text().splitlines() if not line.startswith("#")]


def listed_head(kind: str) -> list[str]:
    """Return the cells of the kind's own line, without the kind, padded to full width."""
    (cells,) = [cells for cells in listed_lines() if cells[0] == f"@{kind}"]
    return (cells[1:] + [""] * 7)[:7]


def listed_fields(kind: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Return path → type and constraints as the list has them."""
    return {
        cells[2]: (cells[3], frozenset("".join(cells[4:]).split("; ")) - {""})
        for cells in listed_lines()
        if cells[0] == kind
    }


def version_of(kind: str) -> dict[str, Any]:
    """Return the one version of a definition."""
    (version,) = DEFINITIONS[kind]["spec"]["versions"]
    assert isinstance(version, dict)
    return version


def schema_fields(kind: str) -> dict[str, tuple[Mapping[str, Any], bool]]:
    """Return path → schema and whether it is required, without the fields that every object has."""
    root = version_of(kind)["schema"]["openAPIV3Schema"]
    common = re.compile(r"(apiVersion|kind|metadata)(\W|$)")
    return {path: (node, is_required) for path, node, is_required in walk(root, "") if not common.match(path)}


def walk(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Visit every schema below `node`, parents first."""
    for name, child in node.get("properties", {}).items():
        child_path = f"{path}.{name}" if path else name
        yield child_path, child, name in node.get("required", ())
        yield from walk(child, child_path)
    for keyword, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if keyword in node:
            yield path + suffix, node[keyword], False
            yield from walk(node[keyword], path + suffix)


def as_listed(node: Mapping[str, Any], *, is_required: bool) -> tuple[str, frozenset[str]]:
    """Spell a schema as the list does."""
    kind = "int-or-string" if node.get("x-kubernetes-int-or-string") else node["type"]
    constraints = {f"{keyword}={spell(node[keyword])}" for keyword in CONSTRAINTS if keyword in node}
    return kind, frozenset(constraints | ({"required"} if is_required else set()))


def spell(value: object) -> str:
    """Spell a constraint's value as the list does."""
    return "|".join(value) if isinstance(value, list) else str(value)


def test_the_same_kinds_are_defined() -> None:
    """Each listed kind has a definition, and there is no other."""
    listed = {cells[0].removeprefix("@") for cells in listed_lines() if cells[0].startswith("@")}

    assert set(DEFINITIONS) == listed


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_names_and_scope(kind: str) -> None:
    """Group, version, scope, plural and short names are the listed ones."""
    group, version, scope, plural, short_names, _, _ = listed_head(kind)
    spec = DEFINITIONS[kind]["spec"]

    assert (spec["group"], version_of(kind)["name"], spec["scope"]) == (group, version, scope)
    assert spec["names"]["plural"] == plural
    assert ",".join(spec["names"].get("shortNames", [])) == short_names
    assert DEFINITIONS[kind]["metadata"]["name"] == f"{plural}.{group}"


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_subresources(kind: str) -> None:
    """A kind has a status subresource when the list says so: a pod group has none."""
    subresources = listed_head(kind)[5]

    assert ",".join(version_of(kind).get("subresources", {})) == subresources


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_printer_columns(kind: str) -> None:
    """`kubectl get` shows the listed columns in their order."""
    columns = version_of(kind).get("additionalPrinterColumns", [])

    shown = " | ".join(f"{column['name']}:{column['jsonPath']}" for column in columns)
    assert shown == OWN_COLUMNS.get(kind, listed_head(kind)[6])


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_printer_columns_have_the_type_of_their_field(kind: str) -> None:
    """A column is typed as its field is; a creation time is a date, shown as an age."""
    fields = schema_fields(kind)
    for column in version_of(kind).get("additionalPrinterColumns", []):
        path = column["jsonPath"].removeprefix(".")
        if path.startswith("metadata.labels."):
            expected = "string"
        else:
            is_time = path == "metadata.creationTimestamp" or fields[path][0].get("format") == "date-time"
            expected = "date" if is_time else fields[path][0]["type"]
        assert column["type"] == expected, column


def test_the_queue_column_is_for_wide_output() -> None:
    """The queue of a job or pod group shows with `-o wide` only; every other column shows always."""
    wide = {
        (kind, column["name"])
        for kind in DEFINITIONS
        for column in version_of(kind).get("additionalPrinterColumns", [])
        if column.get("priority", 0) > 0
    }

    assert wide == {("PodGroup", "QUEUE"), ("Job", "QUEUE")}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_fields(kind: str) -> None:
    """Fields, types, required ones, enums, defaults, limits and patterns are the listed ones."""
    ours = {path: as_listed(node, is_required=required) for path, (node, required) in schema_fields(kind).items()}

    assert ours == listed_fields(kind)


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_what_is_added_to_the_list_is_named(kind: str) -> None:
    """No schema says more than the list without standing in `ADDITIONS`."""
    known = {*CONSTRAINTS, *STRUCTURE}
    added = {
        (kind, path): extra
        for path, (node, _) in schema_fields(kind).items()
        if (extra := {keyword: value for keyword, value in node.items() if keyword not in known | QUANTITY.keys()})
    }

    assert added == {place: extra for place, extra in ADDITIONS.items() if place[0] == kind}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_quantities_take_numbers_and_strings(kind: str) -> None:
    """The two keywords of an int-or-string stand together, and with no `type`."""
    for path, (node, _) in schema_fields(kind).items():
        present = {keyword: node[keyword] for keyword in QUANTITY if keyword in node}
        assert present in ({}, QUANTITY), path
        assert ("type" in node) is not bool(present), path


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_every_field_is_described(kind: str) -> None:
    """`kubectl explain` has a sentence for each field."""
    undescribed = [
        path
        for path, (node, _) in schema_fields(kind).items()
        if not path.endswith(("[]", "{}")) and not node.get("description", "").strip()
    ]

    assert undescribed == []


@pytest.mark.parametrize("kind", ["JobTemplate", "CronJob", "JobFlow"])
def test_a_job_is_the_same_wherever_it_is_kept(kind: str) -> None:
    """The four copies of a job's spec agree but for the description at their top."""

    def job_spec(kind: str) -> dict[str, Any]:
        """Return the schema of the job without its own description."""
        return {**schema_fields(kind)[JOB_SPECS[kind]][0], "description": ""}

    assert job_spec(kind) == job_spec("Job")


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_helm_keeps_the_definitions(kind: str) -> None:
    """Removal of the chart must not delete every queue and job of the cluster."""
    annotations = DEFINITIONS[kind]["metadata"]["annotations"]
    assert annotations["helm.sh/resource-policy"] == "keep"
    # Kubernetes takes definitions of its own groups only with the place where they were approved
    is_protected = DEFINITIONS[kind]["spec"]["group"].endswith(".k8s.io")
    assert ("api-approved.kubernetes.io" in annotations) is is_protected
