"""Discovery documents: versions, groups, resources, OpenAPI documents."""

from typing import Any

from pyroclast.emulator.api.openapi import document, index
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import encode

__all__ = ["EMPTY_V2_PROTOBUF", "VERSION", "Discovery"]

Object = dict[str, Any]

VERSION: Object = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.1+pyroclast",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "CPython",
    "platform": "linux/amd64",
}
"""The API that is imitated."""
OF_OTHER_KIND: dict[str, Object] = {
    "binding": {"kind": "Binding"},
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
    "scale": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
}
"""Subresources that are of another kind than their objects."""
EMPTY_V2: Object = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": ""}, "paths": {}, "definitions": {}}
"""kubectl asks for OpenAPI v2 before it creates reviews and lists, and checks no kind that it does not find there."""
EMPTY_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The form in which Go clients take it; the empty document is the empty message."""
ROOTS = ("/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version")


class Discovery:
    """Documents, made when asked for and kept until the registry changes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._cache: dict[str, bytes | None] = {}
        self._revision = -1

    def find(self, parts: list[str]) -> bytes | None:
        """The document at a path, encoded; None when there is none."""
        registry = self._cluster.registry
        if self._revision != registry.revision:
            self._cache.clear()
            self._revision = registry.revision
        path = "/".join(parts)
        if path not in self._cache:
            made = self._make(parts)
            if made is None:
                return None
            self._cache[path] = encode(made)
        return self._cache[path]

    def _make(self, parts: list[str]) -> Object | None:
        match parts:
            case ["version"]:
                return VERSION
            case [""]:
                return {"paths": list(ROOTS)}
            case ["api"]:
                return {"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"]}
            case ["apis"]:
                groups = [self._group(group) for group in self._cluster.registry.versions() if group]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["apis", group]:
                found = group in self._cluster.registry.versions()
                return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)} if found else None
            case ["api", version]:
                return self._resources("", version)
            case ["apis", group, version]:
                return self._resources(group, version)
            case ["openapi", "v2"]:
                return EMPTY_V2
            case ["openapi", "v3"]:
                return index((one.group, one.version) for one in self._cluster.registry)
            case ["openapi", "v3", "api", version]:
                return self._openapi("", version)
            case ["openapi", "v3", "apis", group, version]:
                return self._openapi(group, version)
        return None

    def _group(self, group: str) -> Object:
        versions = [
            {"groupVersion": f"{group}/{version}", "version": version}
            for version in self._cluster.registry.versions()[group]
        ]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, group: str, version: str) -> Object | None:
        found = self._cluster.registry.of_group_version(group, version)
        if not found:
            return None
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": [line for resource in found for line in lines(resource)],
        }

    def _openapi(self, group: str, version: str) -> Object | None:
        found = self._cluster.registry.of_group_version(group, version)
        if not found:
            return None
        schemas = {}
        for resource in found:
            schema = self._cluster.schemas.get((group, version, resource.plural))
            if schema is not None:
                schemas[resource.kind] = schema
        return document(group, version, [line for resource in found for line in lines(resource)], schemas)


def lines(resource: Resource) -> list[Object]:
    """A resource and its subresources, as discovery lists them."""
    main: Object = {
        "name": resource.plural,
        "singularName": resource.single,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    return [main, *(sub_line(resource, name) for name in resource.subresources)]


def sub_line(resource: Resource, name: str) -> Object:
    """A subresource, as discovery lists it."""
    line: Object = {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs_of(name)),
    }
    return line | OF_OTHER_KIND.get(name, {})
