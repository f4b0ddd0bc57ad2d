"""The form of an answer: plain objects, tables for people, or metadata alone; JSON or YAML."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyroclast.emulator.requests.event_versions import from_core
from pyroclast.emulator.statuses import bad_request, not_acceptable
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.selectors import (
    SelectorError,
    check_fields,
    field_selector_matches,
    parse_field_selector,
    parse_label_selector,
)
from pyroclast.emulator.storage.store import Match, Page, Record, decode, encode
from pyroclast.emulator.tables.tables import table_columns, table_row

__all__ = ["Form", "choose_form", "compile_selectors", "encode_list", "encode_record", "presenter"]

Object = dict[str, Any]

PLAIN_FORM = "plain"
TABLE_FORM = "table"
PARTIAL_FORM = "partial"
META = "meta.k8s.io/v1"
NO_LABELS: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Form that the client's Accept header requests."""

    shape: str = PLAIN_FORM
    yaml: bool = False


@functools.lru_cache(maxsize=256)
def choose_form(accept: str) -> Form:
    """The first form of an Accept header that can be served.

    Raises:
        ApiError: 406 when there is none.
    """
    for clause in (accept or "*/*").split(","):
        media, *rest = (part.strip() for part in clause.split(";"))
        words = dict(part.partition("=")[::2] for part in rest)
        kind_form = words.get("as", "")
        if media == "application/json" and kind_form == "Table":
            return Form(shape=TABLE_FORM)
        if media == "application/json" and kind_form in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            return Form(shape=PARTIAL_FORM)
        if kind_form:
            continue
        if media in ("application/json", "application/*", "*/*"):
            return Form()
        if media in ("application/yaml", "text/yaml"):
            return Form(yaml=True)
    raise not_acceptable()


@functools.lru_cache(maxsize=1024)
def compile_selectors(labels: str, fields: str, group: str, kind: str, selectable: tuple[str, ...]) -> Match | None:
    """One test for both selectors of a query, or None when everything matches.

    Raises:
        ApiError: 400 for a selector that cannot be read or a field that cannot be selected.
    """
    paths = tuple(path.lstrip(".") for path in selectable)
    try:
        label_test = parse_label_selector(labels) if labels else None
        requirements = parse_field_selector(fields) if fields else []
        check_fields(requirements, group, kind, selectable=paths)
    except SelectorError as error:
        raise bad_request(str(error)) from error

    def matches(facets: Object) -> bool:
        if label_test is not None and not label_test(facets["metadata"].get("labels", NO_LABELS)):
            return False
        return not requirements or field_selector_matches(requirements, facets)

    return matches if label_test or requirements else None


def presenter(resource: Resource, form: Form, columns: list[Object] | None, include: str) -> Callable[[Record], bytes]:
    """Return the function that writes one object of a resource in a form.

    Args:
        resource: In the version asked for.
        form: What the client accepts.
        columns: Additional printer columns of a custom resource.
        include: What a table's rows carry: `Metadata`, `Object` or `None`.
    """
    if form.shape == TABLE_FORM:
        return lambda record: encode(table(resource, [record], columns, include, str(record.revision)))
    if form.shape == PARTIAL_FORM:
        return lambda record: encode(partial(record.object()))
    return lambda record: encode_record(resource, record)


def encode_record(resource: Resource, record: Record) -> bytes:
    """An object in the version asked for."""
    if resource.group == "events.k8s.io":
        return encode(from_core(record.object()))
    if resource.version == (resource.storage_version or resource.version):
        return record.raw
    return swap_version(resource, record.raw)


def swap_version(resource: Resource, raw: bytes) -> bytes:
    """Write another apiVersion over the stored one, which stands in front."""
    return head(resource.kind, resource.group_version) + raw[len(head(resource.kind, resource.storage_group_version)) :]


@functools.lru_cache(maxsize=1024)
def head(kind: str, group_version: str) -> bytes:
    """Return the beginning of the encoded objects of a kind."""
    return f'{{"kind":"{kind}","apiVersion":"{group_version}"'.encode()


def encode_list(resource: Resource, page: Page, form: Form, columns: list[Object] | None, include: str) -> bytes:
    """A list in one of the forms."""
    metadata: Object = {"resourceVersion": str(page.revision)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
    if form.shape == TABLE_FORM:
        whole = table(resource, page.records, columns, include, str(page.revision))
        whole["metadata"] = metadata
        return encode(whole)
    if form.shape == PARTIAL_FORM:
        items = [partial(record.object()) for record in page.records]
        return encode({"kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": metadata, "items": items})
    start = encode({"kind": resource.list_name, "apiVersion": resource.group_version, "metadata": metadata})
    return b'%b,"items":[%b]}' % (start[:-1], b",".join(list_item(resource, record) for record in page.records))


def list_item(resource: Resource, record: Record) -> bytes:
    """An object inside a list: built-in kinds go without kind and apiVersion there, as from the real server."""
    raw = encode_record(resource, record)
    if resource.custom:
        return raw
    return b"{" + raw[len(head(resource.kind, resource.group_version)) + 1 :]


def partial(tree: Object) -> Object:
    """Metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": tree["metadata"]}


def table(
    resource: Resource, records: list[Record], columns: list[Object] | None, include: str, revision: str
) -> Object:
    """Rows for people, as kubectl shows them."""
    definitions = table_columns(resource.group, resource.plural, columns)
    rows = [table_line(decode(encode_record(resource, record)), definitions, include) for record in records]
    metadata = {"resourceVersion": revision}
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def table_line(tree: Object, definitions: list[Object], include: str) -> Object:
    """One row."""
    shown = tree if include == "Object" else None if include == "None" else partial(tree)
    line: Object = {"cells": table_row(tree, definitions, None)}
    if shown is not None:
        line["object"] = shown
    return line
