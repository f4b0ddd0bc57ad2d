"""Custom resources: a CRD that is posted is served at once, with its schema, columns and subresources."""

from typing import Any
from urllib.parse import urlsplit

from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.strategies import Context, Strategy, invalid_value, required, section
from pyroclast.emulator.requests.unknownfields import report_unknown
from pyroclast.emulator.schemas.schemas import CompiledSchema, compile_schema
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import ADDED, DELETED, Collection, Event, Record

__all__ = ["CustomStrategy", "DefinitionStrategy", "Definitions", "columns_of"]

Object = dict[str, Any]
Faults = list[dict[str, str]]

GROUP = "apiextensions.k8s.io"
PLURAL = "customresourcedefinitions"
APPROVED = "api-approved.kubernetes.io"


def columns_of(resource: Resource) -> list[Object] | None:
    """Additional printer columns, None for a kind that has none declared."""
    return None if resource.printers is None else list(resource.printers)


class CustomStrategy(Strategy):
    """Prunes, defaults and validates by the schema of the version in use."""

    def __init__(self, schemas: dict[str, CompiledSchema]) -> None:
        self._schemas = schemas

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Bring the object into shape; a status that has its own subresource is dropped."""
        self.fill(tree, context)
        if "status" in context.call.resource.subresources:
            tree.pop("status", None)

    def fill(self, tree: Object, context: Context) -> None:
        """Prune what the schema does not know and set defaults.

        Raises:
            ApiError: 400 for unknown fields under `fieldValidation=Strict`.
        """
        schema = self._schemas.get(context.call.resource.version)
        if schema is None:
            return
        mode = context.call.query.get("fieldValidation", "Warn")
        report_unknown(context.call, schema.prune(tree, collect_unknown=mode != "Ignore"))
        schema.default(tree)

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Return the faults of the object by the schema."""
        del old
        schema = self._schemas.get(context.call.resource.version)
        if schema is None:
            return []
        is_status = context.call.subresource == "status"
        return [error.cause() for error in (schema.validate_status(new) if is_status else schema.validate(new))]


class DefinitionStrategy(Strategy):
    """Defaults and validation of CustomResourceDefinitions."""

    def fill(self, tree: Object, context: Context) -> None:
        """Complete the names."""
        del context
        spec = section(tree, "spec")
        names = section(spec, "names")
        kind = str(names.get("kind", ""))
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
        spec.setdefault("conversion", {"strategy": "None"})

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Names, scope, versions and schemas."""
        if context.call.subresource:
            return []
        spec = new["spec"]
        names = spec["names"]
        faults: Faults = [required(f"spec.{field}") for field in ("group", "scope") if not spec.get(field)]
        faults += [required(f"spec.names.{field}") for field in ("plural", "kind") if not names.get(field)]
        if faults:
            return faults
        name = new["metadata"].get("name", "")
        if name != f"{names['plural']}.{spec['group']}":
            text = 'must be spec.names.plural+"."+spec.group'
            faults.append(invalid_value("metadata.name", name, text))
        faults += version_faults(spec)
        if old is None:
            faults += approval_faults(spec["group"], new["metadata"])
        if old is not None and old["spec"].get("scope") != spec["scope"]:
            faults.append(invalid_value("spec.scope", spec["scope"], "field is immutable"))
        return faults


def approval_faults(group: str, metadata: Object) -> Faults:
    """Groups of Kubernetes itself are taken with the place where they were approved, or a word that they were not."""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return []
    path, value = f"metadata.annotations[{APPROVED}]", (metadata.get("annotations") or {}).get(APPROVED, "")
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not value:
        return [required(path, f'protected groups must have approval annotation "{APPROVED}", {see}')]
    if value.startswith("unapproved") or urlsplit(value).netloc:
        return []
    text = (
        "protected groups must have approval annotation "
        f'"{APPROVED}" with either a URL or a reason starting with "unapproved", {see}'
    )
    return [invalid_value(path, value, text)]


def version_faults(spec: Object) -> Faults:
    """One storage version, and a schema for each."""
    versions = spec.get("versions")
    if not isinstance(versions, list) or not versions:
        return [required("spec.versions", "must have at least one version")]
    faults: Faults = []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        shown = invalid_value("spec.versions", "", "must have exactly one version marked as storage version")
        faults.append(shown)
    for position, version in enumerate(versions):
        if not version.get("name"):
            faults.append(required(f"spec.versions[{position}].name"))
        faults += [
            required(f"spec.versions[{position}].selectableFields[{place}].jsonPath")
            for place, field in enumerate(version.get("selectableFields") or ())
            if not field.get("jsonPath")
        ]
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        path = f"spec.versions[{position}].schema.openAPIV3Schema"
        if not isinstance(schema, dict):
            faults.append(required(path, "schemas are required"))
        elif schema.get("type") != "object":
            faults.append(invalid_value(f"{path}.type", schema.get("type", ""), "must be object at the root"))
    return faults


class Definitions:
    """Serves what CRDs define, and stops when they go."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._definitions = cluster.store.collection(GROUP, PLURAL)

    def on_change(self, collection: Collection, event: Event) -> None:
        """Follow the definitions."""
        if collection is not self._definitions:
            return
        tree = event.record.object()
        if event.type == DELETED:
            self._withdraw(tree)
            return
        before = None if event.before is None else event.before.object()
        if event.type == ADDED or before is None or before["spec"] != tree["spec"]:
            self._serve(tree)
        self._settle(event.record, tree)

    def _serve(self, tree: Object) -> None:
        """Register every served version."""
        spec = tree["spec"]
        cluster, group, plural = self._cluster, spec["group"], spec["names"]["plural"]
        cluster.registry.remove(group, plural)
        schemas: dict[str, CompiledSchema] = {}
        storage = next(one["name"] for one in spec["versions"] if one.get("storage"))
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            cluster.schemas[group, version["name"], plural] = schema
            schemas[version["name"]] = compile_schema(schema)
            if version.get("served"):
                cluster.registry.add(resource_of(spec, version, storage))
        cluster.strategies[group, plural] = CustomStrategy(schemas)
        cluster.store.collection(group, plural).selectable = tuple(
            field["jsonPath"] for version in spec["versions"] for field in version.get("selectableFields") or ()
        )

    def _settle(self, record: Record, tree: Object) -> None:
        """Write the status that says the names are accepted and the kind is established."""
        status = tree.get("status") or {}
        names = tree["spec"]["names"]
        stored = list(status.get("storedVersions") or ())
        storage = next(one["name"] for one in tree["spec"]["versions"] if one.get("storage"))
        desired = stored if storage in stored else [*stored, storage]
        if status.get("acceptedNames") == names and stored == desired and status.get("conditions"):
            return
        tree["status"] = {
            **status,
            "acceptedNames": names,
            "storedVersions": desired,
            "conditions": status.get("conditions") or conditions(self._cluster.clock.now()),
        }
        if self._definitions.get("", record.name) is not None:
            self._definitions.put(tree)

    def _withdraw(self, tree: Object) -> None:
        """Remove the objects of a definition that has gone, then the kind."""
        spec = tree["spec"]
        group, plural = spec["group"], spec["names"]["plural"]
        collection = self._cluster.store.collection(group, plural)
        for record in list(collection.records()):
            collection.remove(record)
        self._cluster.registry.remove(group, plural)
        self._cluster.store.forget(group, plural)
        self._cluster.strategies.pop((group, plural), None)
        for version in spec["versions"]:
            self._cluster.schemas.pop((group, version["name"], plural), None)


def resource_of(spec: Object, version: Object, storage: str) -> Resource:
    """The resource that one version of a definition makes."""
    names = spec["names"]
    subresources = version.get("subresources") or {}
    return Resource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(sorted(subresources)),
        list_kind=names.get("listKind", ""),
        storage_version=storage,
        custom=True,
        printers=tuple(version.get("additionalPrinterColumns") or ()),
        selectable=tuple(field["jsonPath"] for field in version.get("selectableFields") or ()),
        scale=subresources.get("scale"),
    )


def conditions(now: str) -> list[Object]:
    """The conditions of a definition that is in force."""
    accepted = {
        "type": "NamesAccepted",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "NoConflicts",
        "message": "no conflicts found",
    }
    established = {
        "type": "Established",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }
    return [accepted, established]
