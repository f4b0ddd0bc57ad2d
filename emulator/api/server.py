"""HTTP: from a request to the operation it means, and from its result to an answer."""

import asyncio
import functools
import logging
import random
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from aiohttp import web

from pyroclast.emulator.api.access import REVIEWS
from pyroclast.emulator.api.discovery import EMPTY_V2_PROTOBUF, Discovery
from pyroclast.emulator.api.presentation import choose_form, compile_selectors, encode_list, encode_record, presenter
from pyroclast.emulator.api.replies import Reply, refusal
from pyroclast.emulator.kinds.disruption import evict
from pyroclast.emulator.kinds.pods import bind, bind_by_name
from pyroclast.emulator.operations import crud, deletion
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.customresources import columns_of
from pyroclast.emulator.operations.scaling import scale
from pyroclast.emulator.requests.calls import Call, read_body
from pyroclast.emulator.requests.wrongtypes import refuse_wrong_types
from pyroclast.emulator.statuses import (
    ApiError,
    bad_request,
    cause,
    expired,
    method_not_allowed,
    not_found,
    not_found_path,
    too_new,
)
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import Page, Record, encode
from pyroclast.emulator.storage.watches import BOOKMARK_SECONDS, Stream, bookmark, frame

__all__ = ["LARGEST_BODY_BYTES", "ApiServer"]

Object = dict[str, Any]

JSON = "application/json"
LARGEST_BODY_BYTES = 3 * 2**20
"""Limit of the real server."""
LONGEST_WATCH_SECONDS = 3600
INITIAL_CHUNK = 500
"""Objects sent in one piece when a watch begins with what exists."""
CORE_EVENTS = ("", "v1", "events")

log = logging.getLogger(__name__)

HEALTH = frozenset({"healthz", "livez", "readyz"})
PUBLIC = HEALTH | {"version"}
"""Paths without authentication, as on a real server, whose probes have no token."""


class ApiServer:
    """The handler of all requests to one cluster."""

    def __init__(self, cluster: Cluster, *, token: str = "", bookmark_seconds: float = BOOKMARK_SECONDS) -> None:
        self.cluster = cluster
        self.discovery = Discovery(cluster)
        self._token = token
        self._bookmark_seconds = bookmark_seconds
        self._lines: dict[tuple[str, str, str], dict[tuple[int, str], bytes]] = {}
        self._streams: set[Stream] = set()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; whatever goes wrong becomes a Status."""
        try:
            return await self._route(request)
        except ApiError as error:
            return refusal(error).response()
        except web.HTTPRequestEntityTooLarge:
            too_large = ApiError(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")
            return refusal(too_large).response()
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001  # the edge: one broken request must not end the connection
            return broken(request.method, request.raw_path, error).response()

    def answer_now(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply | None:
        """Answer a request to a resource at once, or say that it takes longer."""
        faults = self.cluster.faults
        if faults.armed or faults.paused:
            return None
        path, _, query_text = target.partition("?")
        parts = path.strip("/").split("/")
        start = {"api": 2, "apis": 3}.get(parts[0], 0)
        if not start or len(parts) <= start or len(body) > LARGEST_BODY_BYTES:
            return None
        try:
            if self._token:
                self._check_token(headers)
            query = dict(parse_qsl(query_text, keep_blank_values=True)) if query_text else {}
            group_version = ("", parts[1]) if start == 2 else (parts[1], parts[2])
            call = self._call(method, headers, group_version, parts[start:], query)
            if call.verb == "watch":
                return None
            call.body = body
            return self._answer(call)
        except ApiError as error:
            return refusal(error)
        except Exception as error:  # noqa: BLE001  # as above
            return broken(method, target, error)

    def end_watches(self) -> None:
        """Close every watch, for a stop."""
        for stream in tuple(self._streams):
            stream.end()

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query_text = request.raw_path.partition("?")
        if path.startswith("/emulator/"):
            return await self._control(request, path)
        query = dict(parse_qsl(query_text, keep_blank_values=True)) if query_text else {}
        parts = path.strip("/").split("/")
        if self._token and parts[0] not in PUBLIC:
            self._check_token(request.headers)
        if parts[0] == "api" and len(parts) > 2:
            return await self._resource(request, "", parts[1], parts[2:], query)
        if parts[0] == "apis" and len(parts) > 3:
            return await self._resource(request, parts[1], parts[2], parts[3:], query)
        if request.method != "GET":
            raise method_not_allowed()
        return self._document(parts, request.headers.get("Accept", ""))

    def _check_token(self, headers: Mapping[str, str]) -> None:
        given = headers.get("authorization", "")
        if not secrets.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            raise ApiError(401, "Unauthorized", "Unauthorized")

    async def _control(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        """The server's own endpoint: fault injection, and compaction on demand."""
        faults = self.cluster.faults
        if path == "/emulator/compact" and request.method == "POST":
            self.cluster.store.compact()
        elif path == "/emulator/faults" and request.method == "POST":
            body = await request.read()
            faults.command(read_body(body, JSON))
        elif path == "/emulator/faults" and request.method == "DELETE":
            faults.clear()
        elif path != "/emulator/faults" or request.method != "GET":
            raise not_found_path()
        return Reply(body=encode(faults.describe())).response()

    def _document(self, parts: list[str], accept: str) -> web.StreamResponse:
        """Answer a path that is not a resource: health, version, discovery, OpenAPI."""
        if parts[0] in HEALTH:
            return web.Response(text="ok")
        document = self.discovery.find(parts)
        if document is None:
            raise not_found_path()
        if parts == ["openapi", "v2"] and "proto-openapi.spec.v2" in accept:
            return Reply(body=b"", content_type=EMPTY_V2_PROTOBUF).response()
        choose_form(accept if "as=" not in accept else "")
        return Reply(body=document).response()

    async def _resource(
        self, request: web.BaseRequest, group: str, version: str, parts: list[str], query: dict[str, str]
    ) -> web.StreamResponse:
        call = self._call(request.method, request.headers, (group, version), parts, query)
        call.body = await request.read() if request.body_exists else b""
        cluster = self.cluster
        if cluster.faults.armed or cluster.faults.paused:
            return await self._with_faults(request, call)
        if call.verb == "watch":
            return await self._watch(request, call)
        return self._answer(call).response()

    def _call(
        self,
        method: str,
        headers: Mapping[str, str],
        group_version: tuple[str, str],
        parts: list[str],
        query: dict[str, str],
    ) -> Call:
        """Read a resource path: which object of which resource is meant, and what is to be done."""
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
            namespace, parts = unquote(parts[1]), parts[2:]
        if len(parts) > 3:
            raise not_found_path()
        shown = self.cluster.registry.find(*group_version, parts[0])
        if shown is None:
            raise not_found_path()
        name = unquote(parts[1]) if len(parts) > 1 else ""
        subresource = parts[2] if len(parts) > 2 else ""
        if subresource and subresource not in shown.subresources:
            raise not_found(shown.group, shown.plural, name) if shown.custom else not_found_path()
        if namespace and not shown.namespaced:
            raise not_found_path()
        return Call(
            verb=verb_of(method, name, query if not subresource else {}),  # only objects are watched
            resource=self._ruled(shown),
            shown=shown,
            namespace=namespace,
            name=name,
            subresource=subresource,
            query=query,
            content_type=headers.get("content-type", ""),
            accept=headers.get("accept", ""),
            agent=headers.get("user-agent", ""),
            user="system:admin",
        )

    def _ruled(self, shown: Resource) -> Resource:
        if shown.group != "events.k8s.io":
            return shown
        core = self.cluster.registry.find(*CORE_EVENTS)
        return core or shown

    async def _with_faults(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        """The way of a request while faults are armed."""
        faults = self.cluster.faults
        await faults.awake()
        words = words_of(call)
        fault = faults.take(("error", "cut", "lost", "hold"), words)
        if fault is not None and fault.delay_seconds:
            await asyncio.sleep(fault.delay_seconds)
        if fault is not None and fault.effect == "error":
            raise fault.error()
        if fault is not None and fault.effect == "cut":
            return cut_off(request)
        if call.verb == "watch":
            return await self._watch(request, call)
        reply = self._answer(call)
        return cut_off(request) if fault is not None and fault.effect == "lost" else reply.response()

    def _answer(self, call: Call) -> Reply:
        """Do what is asked, in one go: nothing is awaited from here on."""
        check_verb(call)
        special = SPECIAL.get((call.shown.group, call.shown.plural, call.subresource, call.verb))
        result: Record | Object | bytes
        if special is not None:
            result, code = special(self.cluster, call)
        elif call.subresource == "scale":
            result, code = scale(self.cluster, call), 200
        else:
            result, code = self._general(call)
        form = choose_form(call.accept)
        if isinstance(result, bytes):
            body = result
        elif isinstance(result, dict):
            body = encode(result)
        elif form.shape == "plain":
            body = encode_record(call.shown, result)
        else:
            include = call.query.get("includeObject", "Metadata")
            body = presenter(call.shown, form, self._columns(call), include)(result)
        reply = Reply(body=body, code=code, warnings=call.warnings)
        return reply.as_yaml() if form.yaml else reply

    def _general(self, call: Call) -> tuple[Record | Object | bytes, int]:
        cluster, resource = self.cluster, call.resource
        match call.verb:
            case "get":
                return cluster.record(resource, call.namespace, call.name), 200
            case "list":
                return self._list(call), 200
            case "create":
                call.check_options()
                tree = call.read()
                return crud.create(cluster, call, tree), 201
            case "update":
                call.check_options()
                tree = call.read()
                record, created = crud.replace(cluster, call, tree)
                return record, 201 if created else 200
            case "patch":
                call.check_options()
                return crud.patch(cluster, call), 200
            case "delete":
                record = cluster.record(resource, call.namespace, call.name)
                last, gone = deletion.delete(cluster, resource, record, deletion.read_options(call))
                return deletion.answer(resource, last, gone=gone), 200
        return self._delete_collection(call), 200

    def _columns(self, call: Call) -> list[Object] | None:
        return columns_of(call.shown)

    def _page(self, call: Call) -> Page:
        query = call.query
        matches = compile_selectors(
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
            call.resource.group,
            call.resource.kind,
            call.resource.selectable,
        )
        at = self._list_revision(call)
        try:
            return self.cluster.collection(call.resource).page(
                namespace=call.namespace,
                matches=matches,
                limit=max(0, call.number("limit")),
                token=query.get("continue", ""),
                at=at,
            )
        except ApiError as error:
            if error.code == 410 and at:
                raise expired("The resourceVersion for the provided list is too old.") from error
            raise

    def _list_revision(self, call: Call) -> int:
        """The exact revision a list asks for, 0 when the newest will do.

        Raises:
            ApiError: 422 for rules that contradict each other, 504 for the future.
        """
        version, rule = call.query.get("resourceVersion", ""), call.query.get("resourceVersionMatch", "")
        if rule:
            check_match_rule(call, version, rule)
        if call.query.get("continue"):
            if version not in ("", "0"):
                raise bad_request("specifying resource version is not allowed when using continue")
            return 0
        requested = revision_number(version)
        if requested > self.cluster.store.revision:
            raise too_new(requested, self.cluster.store.revision)
        exact = rule == "Exact" or (not rule and bool(call.number("limit")))
        return requested if exact else 0

    def _list(self, call: Call) -> bytes:
        form = choose_form(call.accept)
        include = call.query.get("includeObject", "Metadata")
        return encode_list(call.shown, self._page(call), form, self._columns(call), include)

    def _delete_collection(self, call: Call) -> bytes:
        """Delete all that a list would show; answers that list."""
        page = self._page(call)
        options = deletion.read_options(call)
        collection = self.cluster.collection(call.resource)
        for record in page.records:
            if (current := collection.get(record.namespace, record.name)) is not None:
                deletion.delete(self.cluster, call.resource, current, options)
        return encode_list(call.shown, page, choose_form(call.accept), self._columns(call), "Metadata")

    async def _watch(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        """Stream what changes, from the revision asked for."""
        check_verb(call)
        stream, initial, replay = self._open(call)
        collection = stream.collection
        loop = asyncio.get_running_loop()
        seconds = call.number("timeoutSeconds") or LONGEST_WATCH_SECONDS * (0.5 + random.random() / 2)
        timers = [loop.call_later(seconds, stream.end)]
        for event in replay:
            stream.offer(event)  # before anything is awaited: newer events must queue behind these
        collection.watchers.add(stream)
        self._streams.add(stream)
        try:
            response = web.StreamResponse(headers={"Content-Type": JSON})
            response.enable_chunked_encoding()
            await response.prepare(request)
            await self._send_initial(call, stream, response, initial)
            if call.flag("allowWatchBookmarks"):
                timers.append(loop.call_later(self._bookmark_seconds, self._bookmark, stream, call, timers))
            await self._pump(request, stream, response)
            return response
        finally:
            for timer in timers:
                timer.cancel()
            collection.watchers.discard(stream)
            self._streams.discard(stream)

    def _open(self, call: Call) -> tuple[Stream, list[Record] | None, list[Any]]:
        """The stream of a watch, the objects it begins with, and the events it has missed."""
        query, resource = call.query, call.resource
        form = choose_form(call.accept)
        columns = self._columns(call)
        fields = query.get("fieldSelector", "")
        if call.name:
            fields = f"{fields},metadata.name={call.name}".strip(",")
        collection = self.cluster.collection(resource)
        stream = Stream(
            collection=collection,
            present=presenter(call.shown, form, columns, query.get("includeObject", "Metadata")),
            namespace=call.namespace,
            matches=compile_selectors(
                query.get("labelSelector", ""), fields, resource.group, resource.kind, resource.selectable
            ),
            faults=self.cluster.faults,
            words=words_of(call),
            shared=self._shared(call) if form.shape == "plain" else None,
        )
        version = query.get("resourceVersion", "")
        initial_events = query.get("sendInitialEvents")
        if initial_events is not None:
            check_initial_events(call)
        if version and not version.isdigit():
            # The real server detects it too late in a watch to return a 400.
            raise ApiError(
                500,
                "",
                f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax',
            )
        requested = revision_number(version)
        if initial_events == "true" or (initial_events is None and requested == 0):
            page = collection.page(namespace=call.namespace, matches=stream.matches)
            return stream, page.records, []
        if initial_events == "false" and requested == 0:
            return stream, None, []
        try:
            return stream, None, collection.events_since(requested)
        except ApiError as error:
            stream.fail(error)
            return stream, None, []

    def _shared(self, call: Call) -> dict[tuple[int, str], bytes]:
        shown = call.shown
        return self._lines.setdefault((shown.group, shown.version, shown.plural), {})

    async def _send_initial(
        self, call: Call, stream: Stream, response: web.StreamResponse, records: list[Record] | None
    ) -> None:
        if records is None:
            return
        revision = self.cluster.store.revision
        for start in range(0, len(records), INITIAL_CHUNK):
            chunk = records[start : start + INITIAL_CHUNK]
            await response.write(b"".join(frame("ADDED", stream.present(record)) for record in chunk))
        if call.query.get("sendInitialEvents") == "true" and call.flag("allowWatchBookmarks"):
            shown = call.shown
            line = bookmark(shown.kind, shown.group_version, revision, initial_events_end=True)
            stream.pending.insert(0, line)

    def _bookmark(self, stream: Stream, call: Call, timers: list[asyncio.TimerHandle]) -> None:
        """Send a bookmark with the current revision, and schedule the next one."""
        stream.push(bookmark(call.shown.kind, call.shown.group_version, self.cluster.store.revision))
        loop = asyncio.get_running_loop()
        timers[1:] = [loop.call_later(self._bookmark_seconds, self._bookmark, stream, call, timers)]

    async def _pump(self, request: web.BaseRequest, stream: Stream, response: web.StreamResponse) -> None:
        """Send lines as they come until the stream ends."""
        faults = self.cluster.faults
        while True:
            await stream.wait()
            if faults.paused:
                await faults.awake()
            if stream.pending:
                await response.write(stream.take())
            elif stream.ending:
                break
        if stream.cut is not None:
            await response.write(stream.cut)
            cut_off(request)


Special = Callable[[Cluster, Call], tuple[Record | Object, int]]


def created(operation: Callable[[Cluster, Call, Object], Record | Object]) -> Special:
    """An operation that reads a body and answers 201."""
    return lambda cluster, call: (operation(cluster, call, call.read()), 201)


def finalize(cluster: Cluster, call: Call) -> tuple[Record | Object, int]:
    """PUT to a namespace's `finalize`: only its `spec.finalizers` count."""
    record = cluster.record(call.resource, "", call.name)
    tree = record.object()
    body = call.read()
    refuse_wrong_types("v1", "Namespace", body)
    tree["spec"] = {"finalizers": (body.get("spec") or {}).get("finalizers") or []}
    return cluster.collection(call.resource).put(tree), 200


SPECIAL: dict[tuple[str, str, str, str], Special] = {
    ("", "pods", "binding", "create"): created(bind),
    ("", "bindings", "", "create"): created(bind_by_name),
    ("", "pods", "eviction", "create"): created(evict),
    ("", "namespaces", "finalize", "update"): finalize,
}
"""Requests that are no plain change of an object."""
SPECIAL.update({(group, plural, "", "create"): created(review) for (group, plural), review in REVIEWS.items()})


def verb_of(method: str, name: str, query: dict[str, str]) -> str:
    """The API's word for a request.

    Raises:
        ApiError: 405.
    """
    if method == "GET":
        if query.get("watch", "false").lower() not in ("false", "0"):
            return "watch"
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(method)
    if verb is None:
        raise method_not_allowed()
    return verb


def check_verb(call: Call) -> None:
    """Refuse what the resource does not do.

    Raises:
        ApiError: 405.
    """
    if call.verb not in call.resource.verbs_of(call.subresource):
        raise method_not_allowed()
    if call.subresource:
        return
    wrong_place = (call.verb == "create" and bool(call.name)) or (call.verb in ("update", "patch") and not call.name)
    cluster_wide = call.resource.namespaced and not call.namespace
    if wrong_place:
        raise method_not_allowed()
    if cluster_wide and call.verb not in ("list", "watch", "deletecollection"):
        raise method_not_allowed()


def words_of(call: Call) -> dict[str, str]:
    """Return the words by which faults match a request."""
    return {
        "verb": call.verb,
        "resource": call.shown.plural,
        "name": call.name,
        "namespace": call.namespace,
        "subresource": call.subresource,
        "user_agent": call.agent,
    }


@functools.lru_cache(maxsize=64)
def revision_number(text: str) -> int:
    """A resourceVersion as a number; empty is 0.

    Raises:
        ApiError: 400.
    """
    if not text:
        return 0
    if not text.isdigit():
        raise bad_request(f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)


def list_options_invalid(field: str, message: str) -> ApiError:
    """422 for list options that contradict each other."""
    return ApiError(
        422,
        "Invalid",
        f'ListOptions.meta.k8s.io "" is invalid: {field}: {message}',
        {"group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause(field, "FieldValueForbidden", message)]},
    )


def check_match_rule(call: Call, version: str, rule: str) -> None:
    """The rules between resourceVersion, resourceVersionMatch and continue.

    Raises:
        ApiError: 422.
    """
    field = "resourceVersionMatch"
    if call.query.get("continue"):
        raise list_options_invalid(field, f"Forbidden: {field} is forbidden when continue is provided")
    if not version:
        raise list_options_invalid(field, f"Forbidden: {field} is forbidden unless resourceVersion is provided")
    if rule not in ("Exact", "NotOlderThan"):
        supported = '"Exact", "NotOlderThan", ""'
        raise list_options_invalid(field, f'Unsupported value: "{rule}": supported values: {supported}')
    if rule == "Exact" and version == "0":
        raise list_options_invalid(field, f'Forbidden: {field} "Exact" is forbidden for resourceVersion "0"')


def check_initial_events(call: Call) -> None:
    """`sendInitialEvents` needs its companion.

    Raises:
        ApiError: 422.
    """
    if call.query.get("resourceVersionMatch") != "NotOlderThan":
        text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise list_options_invalid("resourceVersionMatch", text)


def broken(method: str, target: str, error: Exception) -> Reply:
    """Return 500 for a bug of the server, and log the exception."""
    log.error("request failed: %s %s", method, target, exc_info=error)
    return refusal(ApiError(500, "InternalError", f"Internal error occurred: {error!r}"))


def cut_off(request: web.BaseRequest) -> web.Response:
    """Cut the connection as a crash would; the response goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
