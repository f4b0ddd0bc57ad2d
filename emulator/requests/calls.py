"""One API request, taken apart: what is asked of which object, in which words and which form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from pyroclast.emulator.requests.event_versions import to_core
from pyroclast.emulator.requests.protobuf import UnsupportedProtobuf
from pyroclast.emulator.requests.protobuf import decode as decode_protobuf
from pyroclast.emulator.requests.wrongtypes import json_name
from pyroclast.emulator.statuses import ApiError, bad_request, cause, invalid, unsupported_media_type
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import decode

__all__ = ["Call", "read_body"]

PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)

TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
SHOWN_BYTES = 30
"""So much of a body that is not understood is in the answer."""
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
OPTIONS = {
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}
"""Kinds in which the real server reads a query, by verb; creations are the rest."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One request to a resource."""

    verb: str
    resource: Resource
    """Resource whose rules apply."""
    shown: Resource
    """In whose form the object comes and goes; another one for the two faces of events alone."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = ""
    agent: str = ""
    user: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be kept.

        Raises:
            ApiError: 422 for a value other than `All`.
        """
        value = self.query.get("dryRun", "")
        if value not in ("", "All"):
            raise self.wrong_option(
                "dryRun", "FieldValueNotSupported", f'Unsupported value: ["{value}"]: supported values: "All"'
            )
        return value == "All"

    def check_options(self) -> None:
        """Look over what a write is asked for beside its body.

        Raises:
            ApiError: 422.
        """
        validation = self.query.get("fieldValidation", "")
        if validation not in VALIDATIONS:
            supported = ", ".join(f'"{each}"' for each in VALIDATIONS)
            detail = f'Unsupported value: "{validation}": supported values: {supported}'
            raise self.wrong_option("fieldValidation", "FieldValueNotSupported", detail)
        if "force" in self.query and self.verb == "patch" and "apply-patch" not in self.content_type:
            detail = "Forbidden: may not be specified for non-apply patch"
            raise self.wrong_option("force", "FieldValueForbidden", detail)

    def wrong_option(self, field: str, reason: str, detail: str) -> ApiError:
        """422 for an option of the request that cannot be."""
        return invalid("meta.k8s.io", OPTIONS.get(self.verb, "CreateOptions"), "", [cause(field, reason, detail)])

    def flag(self, name: str) -> bool:
        """A boolean of the query, read as the API server reads it."""
        value = self.query.get(name)
        return value is not None and value.lower() not in ("false", "0")

    def number(self, name: str) -> int:
        """A whole number of the query, 0 when it is not given.

        Raises:
            ApiError: 400 when it is no number.
        """
        value = self.query.get(name, "")
        try:
            return int(value) if value else 0
        except ValueError as error:
            raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax') from error

    def read(self) -> dict[str, Any]:
        """The body as an object.

        Raises:
            ApiError: 400 or 415 when it is none.
        """
        tree = read_body(self.body, self.content_type)
        if not isinstance(tree, dict):
            raise self.unrecognized(tree, f"value of type {TYPE_META}")
        for key in ("apiVersion", "kind"):
            if not isinstance(tree.get(key) or "", str):
                raise self.unrecognized(tree[key], f"struct field .{key} of type string")
        return to_core(tree) if self.shown.group == "events.k8s.io" else tree

    def unrecognized(self, value: Any, place: str) -> ApiError:
        """400 for a body that does not say what it is."""
        start = self.body[:SHOWN_BYTES]
        shown = start.decode(errors="replace") if start.startswith(b"{") else start.hex()
        more = " ..." if len(self.body) > SHOWN_BYTES else ""
        return bad_request(
            f"the object provided is unrecognized (must be of type {self.shown.kind}): couldn't get version/kind; json "
            f"parse error: json: cannot unmarshal {json_name(value)} into Go {place} ({shown}{more})"
        )


def read_body(body: bytes, content_type: str) -> Any:
    """Decode JSON, YAML or the protobuf of a few kinds.

    Raises:
        ApiError: 400 for broken bodies, 415 for other forms.
    """
    media = content_type.partition(";")[0].strip().lower()
    if media in ("", "application/json", "*/*") or media.endswith("+json"):
        return read_json(body)
    if media == "application/yaml":
        return read_yaml(body)
    if media == PROTOBUF:
        try:
            return decode_protobuf(body)
        except UnsupportedProtobuf as error:
            raise unsupported_media_type(f"protobuf is not read for this kind, send JSON: {error}") from error
    raise unsupported_media_type(ACCEPTED)


def read_json(body: bytes) -> Any:
    """Decode JSON; lone surrogates and the like get a second, more patient reader."""
    try:
        return decode(body)
    except msgspec.DecodeError as first:
        try:
            return json.loads(body)
        except ValueError:
            raise bad_request(f"error decoding the body as JSON: {first}") from first


def read_yaml(body: bytes) -> Any:
    """Decode YAML (of which JSON is a part)."""
    try:
        return decode(body)
    except msgspec.DecodeError:
        pass
    try:
        return yaml.load(body, Loader=JsonLoader)  # noqa: S506 - a SafeLoader without time stamps
    except yaml.YAMLError as error:
        raise bad_request(f"error decoding YAML: {error}") from error


class JsonLoader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: what JSON has, so a date is a text."""


JsonLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
