"""The service API: the configuration, nodes, and the endpoints of plugins, as JSON.

===============================  =================================================================
path                             answer
===============================  =================================================================
/configz                         the configuration in force, the faults of the file, the flags
/apis/v1/__services__            the paths of this API
/apis/v1/nodes/NAME              a node as the last cycle saw it
/apis/v1/plugins/NAME/...        an endpoint of a plugin
===============================  =================================================================

A copy that does not lead answers 503, except for /configz. Plugins are asked in a thread of their own, one at a time,
beside the cycles. While an endpoint exceeds its time limit, all endpoints of plugins answer 503.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import structlog
from aiohttp import web

from pyroclast.framework.configuration import Configuration, PluginOption, Profile
from pyroclast.framework.extension.contract import Endpoint, EndpointRequest
from pyroclast.model.ids import NodeName
from pyroclast.model.requests import resource_list
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.texts import said_by
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.daemon.cycle_thread import CycleThread
from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.monitoring.health import Look

__all__ = ["MOST_BYTES", "MOST_SECONDS", "Services", "configz"]

MOST_BYTES: Final = 16 * 2**20
"""Maximum size of an answer of a plugin."""
MOST_SECONDS: Final = 10.0
"""Time limit of an answer of a plugin."""
_MOST_WAITING: Final = 4
"""Maximum number of requests to plugins that wait; further ones are refused."""
_MOST_ENDPOINTS: Final = 256
"""Maximum number of endpoints of a plugin; further ones are not served."""
_PLUGINS: Final = "/apis/v1/plugins"
_ALIASES: Final = {"loadawarescheduling": "loadaware", "nodenumaresource": "nodenuma"}
"""Koordinator's names of plugins that differ from ours in more than case and hyphens."""
_SECRET: Final = re.compile(
    r"passw|passphrase|(?:^|[^a-z])pwd|token|secret|credential|(?:api|private|access)[-_.]?key|authorization|bearer",
    re.IGNORECASE,
)
"""Keys of secrets, wherever the word stands in them."""
_USER_OF_URL: Final = re.compile(r"(?<=://)[^/?#\s]*@")
"""User and password of a URL."""


T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Services:
    """Answers requests about the last cycle."""

    def __init__(
        self,
        seen: Callable[[], Seen | None],
        options: Options,
        *,
        configuration: Callable[[], Configuration | None],
        faults: Callable[[], tuple[str, ...]],
    ) -> None:
        """Answer from what the daemon has seen.

        Args:
            seen: Returns the last cycle.
            options: The flags of the process.
            configuration: Returns the configuration in force.
            faults: Returns the faults of its file.
        """
        self.limit_seconds = MOST_SECONDS
        """Time limit of an answer of a plugin."""
        self._overdue: tuple[str, asyncio.Future[Any]] | None = None
        """Request that exceeded the limit, and its call."""
        self._seen, self._options = seen, options
        self._thread = CycleThread("endpoints")
        self._configuration, self._faults = configuration, faults
        self._lock = asyncio.Lock()
        self._waiting = 0

    def close(self) -> None:
        """End the thread of plugins when it is idle."""
        self._thread.close()

    def looks(self) -> dict[str, Look]:
        """Return the handlers by path."""
        return {
            "/configz": self._show_configuration,
            "/apis/v1/__services__": self._show_services,
            "/apis/v1/nodes/{name}": self._show_node,
            _PLUGINS + "/{plugin}/{path:.+}": self._ask_plugin,
        }

    async def _show_configuration(self, _: web.Request) -> web.Response:
        return _json(configz(self._configuration(), self._faults(), self._options))

    async def _show_services(self, _: web.Request) -> web.Response:
        seen = self._seen()
        if seen is None:
            return _no_cycle()
        own = ["/configz", "/apis/v1/__services__", "/apis/v1/nodes/{name}"]
        found = await self._in_thread("__services__", _paths, seen)
        return found if isinstance(found, web.Response) else _json({"GET": [*own, *found]})

    async def _show_node(self, request: web.Request) -> web.Response:
        seen = self._seen()
        if seen is None:
            return _no_cycle()
        name = NodeName(request.match_info["name"])
        if name not in seen.snapshot.nodes.column:
            return web.Response(status=404, text=f"node {name!r} was not in the last cycle\n")
        return _json(node_json(seen.snapshot, name))

    async def _ask_plugin(self, request: web.Request) -> web.Response:
        seen = self._seen()
        if seen is None:
            return _no_cycle()
        plugin, path = request.match_info["plugin"], request.match_info["path"]
        answered = await self._in_thread(f"{plugin}/{path}", _answer, seen, plugin, path, dict(request.query))
        if isinstance(answered, web.Response):
            return answered
        status, body = answered
        if status != web.HTTPOk.status_code:
            return web.Response(status=status, text=body.decode() + "\n")
        return web.Response(body=body, content_type="application/json")

    async def _in_thread(self, what: str, call: Callable[..., T], *arguments: Any) -> T | web.Response:
        """Run code of plugins, one request at a time. Return an error if too many wait or a call does not return."""
        if self._waiting >= _MOST_WAITING:
            return web.Response(status=503, text="other requests to plugins are waiting; try again\n")
        self._waiting += 1
        try:
            async with self._lock:
                if self._overdue is not None and not self._overdue[1].done():
                    return web.Response(status=503, text=f"{self._overdue[0]} has not returned yet\n")
                future = self._thread.run(call, *arguments)
                try:
                    return await asyncio.wait_for(asyncio.shield(future), self.limit_seconds)
                except TimeoutError:
                    self._overdue = what, future
                    _log.error("plugin_endpoint_hangs", endpoint=what, seconds=self.limit_seconds)
                    return web.Response(status=504, text=f"{what} did not answer in {self.limit_seconds:g} s\n")
        finally:
            self._waiting -= 1


def _paths(seen: Seen) -> list[str]:
    """Return the paths of all plugins. Called in the thread for plugins."""
    return sorted(
        {f"{_PLUGINS}/{instance}/{pattern}" for instance, endpoints in _endpoints(seen) for pattern in endpoints}
    )


def _answer(seen: Seen, plugin: str, path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
    """Return status and body of a plugin's answer. Called in the thread for plugins."""
    for instance, endpoints in _endpoints(seen):
        if _plain(instance) != _plain(plugin):
            continue
        for pattern, endpoint in endpoints.items():
            parameters = matched(pattern, path)
            if parameters is not None:
                return _asked(instance, endpoint, EndpointRequest(seen.snapshot, seen.report, parameters, query))
    return 404, f"no endpoint {plugin}/{path}; see /apis/v1/__services__".encode()


def _asked(instance: str, endpoint: Endpoint, request: EndpointRequest) -> tuple[int, bytes]:
    try:
        found = endpoint(request)
        body = b"" if found is None else msgspec.json.encode(found, enc_hook=_plain_value)
    except BaseException as error:  # noqa: BLE001  # whatever a plugin raises is its failure
        return 500, f"plugin {instance} failed: {said_by(error)}".encode()
    if found is None:
        return 404, b"not found"
    if len(body) > MOST_BYTES:
        return 500, f"plugin {instance} answered {len(body)} bytes, at most {MOST_BYTES} are sent".encode()
    return 200, body


def _endpoints(seen: Seen) -> Iterator[tuple[str, Mapping[str, Endpoint]]]:
    """Yield the endpoints of each plugin of the configuration, by instance; none of a plugin that cannot be made."""
    inputs = seen.inputs
    for profile in () if inputs is None else inputs.configuration.profiles:
        for option in profile.plugins:
            try:
                assert inputs is not None, "it has profiles"
                found = inputs.registry.build_plugin(option).endpoints()
                endpoints = {str(pattern): each for pattern, each in islice(found.items(), _MOST_ENDPOINTS)}
            except BaseException:  # noqa: BLE001, S112  # the cycle reports it, and a plugin must not end the process
                continue
            yield option.instance, endpoints


def matched(pattern: str, path: str) -> dict[str, str] | None:
    """Return the parameters of a path that has a pattern, such as `gang/{namespace}/{name}`; None if it has not."""
    expected, given = pattern.split("/"), path.strip("/").split("/")
    if len(expected) != len(given):
        return None
    parameters = {}
    for part, value in zip(expected, given, strict=True):
        if part.startswith("{") and part.endswith("}"):
            parameters[part[1:-1]] = value
        elif part != value:
            return None
    return parameters


def _plain(name: str) -> str:
    """Return a name without case and hyphens: Koordinator writes `DeviceShare` where we write `deviceshare`."""
    plain = name.replace("-", "").lower()
    return _ALIASES.get(plain, plain)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise NotImplementedError(f"{type(value).__name__} is no JSON value")


def node_json(snapshot: Snapshot, name: NodeName) -> dict[str, Any]:
    """Return a node of a snapshot with its amounts and pods."""
    table, space = snapshot.nodes, snapshot.resources
    column = table.column[name]
    node = table.facts.nodes[column]
    used = table.state[table.rows.used, column]
    offered = table.allocatable[:, column]
    return {
        "name": name,
        "labels": dict(node.labels),
        "unschedulable": node.unschedulable,
        "taints": [{"key": each.key, "value": each.value, "effect": each.effect} for each in node.taints],
        "inShard": bool(table.in_shard[column]),
        "allocatable": resource_list(space.amounts(offered)),
        "used": resource_list(space.amounts(used)),
        "idle": resource_list(space.amounts(offered - used)),
        "pods": [
            {"pod": task.key, "job": task.job, "status": task.status.label}
            for task in sorted(table.tasks[column].values(), key=lambda task: task.key)
        ],
    }


def configz(configuration: Configuration | None, faults: tuple[str, ...], options: Options) -> dict[str, Any]:
    """Return the configuration in force with the flags.

    Values of keys that name secrets, and users and passwords in URLs, are left out.
    """
    flags = {each.name: getattr(options, each.name) for each in fields(options)}
    return {
        "generation": None if configuration is None else configuration.generation,
        "source": None if configuration is None else configuration.source,
        "profiles": [] if configuration is None else [_profile(each) for each in configuration.profiles],
        "faults": list(faults),
        "flags": {
            name.replace("_", "-"): _open(value)
            for name, value in sorted(flags.items())
            if isinstance(value, str | int | float | bool | tuple)
        },
    }


def _profile(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "schedulerNames": list(profile.scheduler_names),
        "actions": list(profile.actions),
        "tiers": [{"plugins": [_plugin(option) for option in tier]} for tier in profile.tiers],
        "configurations": {name: _open(arguments) for name, arguments in profile.action_arguments.items()},
        "shadows": [_plugin(option) for option in profile.shadows],
        "metrics": _open(profile.metrics),
    }


def _plugin(option: PluginOption) -> dict[str, Any]:
    return {
        "name": option.plugin,
        "instance": option.instance,
        "timeBudget": option.time_budget,
        "failurePolicy": "Ignore" if option.ignores_failure else "Fail",
        "flags": dict(option.flags),
        "arguments": _open(option.arguments),
    }


def _open(value: Any) -> Any:
    """Return arguments without the values of keys that name secrets, and without users and passwords of URLs."""
    if isinstance(value, str):
        return _USER_OF_URL.sub("***@", value)
    if isinstance(value, Mapping):
        return {str(key): "***" if _SECRET.search(str(key)) else _open(each) for key, each in value.items()}
    return [_open(each) for each in value] if isinstance(value, list | tuple) else value


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value, enc_hook=_plain_value), content_type="application/json")


def _no_cycle() -> web.Response:
    return web.Response(status=503, text="no cycle yet: this copy does not lead, or has just begun\n")
