"""The service API: configuration, nodes, endpoints of plugins; what a plugin may not do there."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from pyroclast import Plugin, Session, contract
from pyroclast.framework.configuration import Configuration, PluginOption, Profile, parse
from pyroclast.framework.session.memory import Memory
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.daemon.daemon import CycleInputs, Seen
from pyroclast.scheduler.daemon.services import MOST_BYTES, Services, configz, matched
from pyroclast.scheduler.monitoring.health import Endpoints, HealthSource
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.gangs import annotated


class Talking(Plugin):
    """A plugin with endpoints."""

    name = "talking"

    def on_session_open(self, session: Session) -> None:
        """Register nothing."""

    def endpoints(self) -> Mapping[str, contract.Endpoint]:
        """Return one that works, and some that do not."""

        def ends(_: contract.EndpointRequest) -> Any:
            raise SystemExit("enough")

        return {
            "pods/{namespace}": lambda request: {
                "pods": sorted(
                    task.key
                    for job in request.snapshot.jobs.values()
                    for task in job.tasks.values()
                    if task.namespace == request.parameters["namespace"]
                ),
                "query": request.query,
            },
            "none": lambda _: None,
            "ends": ends,
            "odd": lambda _: {"a": object()},
            "large": lambda _: "x" * (MOST_BYTES + 1),
        }


class Served:
    """A daemon with one cycle, or none."""

    def __init__(self) -> None:
        plugins = ("gang", "coscheduling", "predicates", Talking)
        parsed, registry = configured(("allocate",), plugins, {})
        scenario = Scenario().node("n1", cpu=4).job("a", cpu=3).pod("g", annotations=annotated("train", 2))
        (done,) = scenario.run("allocate", plugins=("gang", "coscheduling", "predicates")).rounds
        inputs = CycleInputs(configuration=parsed.configuration, registry=registry, memory=Memory(), now=1.8e9)
        self.seen: Seen | None = Seen(snapshot=done.snapshot, report=done.report, inputs=inputs)
        self.services = Services(
            lambda: self.seen,
            Options(),
            configuration=lambda: parsed.configuration,
            faults=lambda: ("a: b",),
        )
        self.endpoints: Endpoints | None = None

    async def get(self, path: str) -> tuple[int, Any]:
        """Return status and JSON, or text."""
        assert self.endpoints is not None
        url = f"http://127.0.0.1:{self.endpoints.ports['metrics']}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status, await (answer.json() if answer.status == 200 else answer.text())


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """The endpoints of a daemon."""
    made = Served()
    inside = HealthSource(checks={}, vital={}, metrics_text=lambda: b"", looks=made.services.looks())
    made.endpoints = Endpoints(Options(listen_address="127.0.0.1:0"), inside)
    await made.endpoints.start()
    yield made
    await made.endpoints.stop()
    made.services.close()


async def test_services_are_listed(served: Served) -> None:
    """The paths of plugins stand among them."""
    status, found = await served.get("/apis/v1/__services__")

    assert status == 200
    assert {"/configz", "/apis/v1/nodes/{name}"} <= set(found["GET"])
    assert "/apis/v1/plugins/talking/pods/{namespace}" in found["GET"]
    assert "/apis/v1/plugins/coscheduling/gang/{namespace}/{name}" in found["GET"]


async def test_a_plugin_answers(served: Served) -> None:
    """It receives the snapshot, the parts of the path and the query."""
    assert await served.get("/apis/v1/plugins/talking/pods/default?all=1") == (
        200,
        {"pods": ["default/a-0", "default/g"], "query": {"all": "1"}},
    )


async def test_gangs_are_served_under_koordinators_path(served: Served) -> None:
    """Also by Koordinator's name of the plugin."""
    status, gang = await served.get("/apis/v1/plugins/Coscheduling/gang/default/train")

    assert status == 200
    assert (gang["name"], gang["minRequiredNumber"], gang["pendingChildren"]) == ("default/train", 2, ["default/g"])
    assert set((await served.get("/apis/v1/plugins/coscheduling/gangs"))[1]) == {"default/train"}


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("talking/none", 404, "not found"),
        ("talking/absent", 404, "see /apis/v1/__services__"),
        ("absent/none", 404, "see /apis/v1/__services__"),
        ("talking/ends", 500, "plugin talking failed: enough"),
        ("talking/odd", 500, "object is no JSON value"),
        ("talking/large", 500, "at most 16777216 are sent"),
        ("coscheduling/gang/default/absent", 404, "not found"),
    ],
)
async def test_what_a_plugin_cannot_answer_is_an_error(served: Served, path: str, status: int, text: str) -> None:
    """Whatever it does, the process goes on."""
    found = await served.get(f"/apis/v1/plugins/{path}")

    assert found[0] == status
    assert text in found[1]
    assert (await served.get("/apis/v1/plugins/coscheduling/gangs"))[0] == 200


async def test_a_node_is_shown(served: Served) -> None:
    """Amounts and pods as the last cycle saw them."""
    status, node = await served.get("/apis/v1/nodes/n1")

    assert status == 200
    assert (node["name"], node["allocatable"]["cpu"], node["idle"]["cpu"]) == ("n1", "4", "4")
    assert (await served.get("/apis/v1/nodes/absent"))[0] == 404


async def test_a_copy_without_a_cycle_has_no_answers(served: Served) -> None:
    """A standby answers 503; the configuration is known all the same."""
    served.seen = None

    for path in ("__services__", "nodes/n1", "plugins/talking/none"):
        assert (await served.get(f"/apis/v1/{path}"))[0] == 503, path
    assert (await served.get("/configz"))[0] == 200


def test_configz_hides_secrets() -> None:
    """Values of keys that name a secret are left out, wherever they stand."""
    text = (
        "actions: allocate\n"
        "tiers: [{plugins: [{name: gang, timeBudget: 2s, arguments: {a.token: x, b: [{password: y}]}}]}]\n"
        "metrics: {type: elasticsearch, address: 'http://there', elasticsearch.password: z}"
    )
    configuration = parse(text, known_plugins=("gang",), known_actions=("allocate",)).configuration
    found = configz(configuration, (), Options())
    (profile,) = found["profiles"]

    assert profile["tiers"][0]["plugins"][0]["arguments"] == {"a.token": "***", "b": [{"password": "***"}]}
    assert profile["metrics"]["elasticsearch.password"] == "***"
    assert profile["tiers"][0]["plugins"][0]["timeBudget"] == 2.0
    assert found["flags"]["plugin-time-budget"] == 30.0


@pytest.mark.parametrize(
    "key",
    [
        "a.token",
        "passphrase",
        "pwd",
        "redis-pwd",
        "Authorization",
        "http.bearer",
        "private_key",
        "accessKeyId",
        "api-key",
        "clientSecret",
        "credentials",
    ],
)
def test_configz_hides_secrets_of_every_name(key: str) -> None:
    """In arguments of plugins and actions."""
    assert "hidden" not in shown_of({key: "hidden"})


@pytest.mark.parametrize("url", ["http://me:hidden@there:9090/a", "https://hidden@there", "x https://a:hid@den@there/"])
def test_configz_hides_users_of_urls(url: str) -> None:
    """Wherever a URL stands; the address remains."""
    shown = shown_of({"extender.urlPrefix": url, "more": [{"address": url}]})

    assert "hid" not in shown
    assert "there" in shown
    assert "hid" not in str(configz(None, (), Options(master=url)))


def shown_of(arguments: Mapping[str, Any]) -> str:
    """Return what configz shows of arguments."""
    option = PluginOption(plugin="gang", instance="gang", arguments=arguments, flags={})
    tiers = ((option,),)
    profile = Profile(actions=("allocate",), tiers=tiers, action_arguments={"allocate": arguments})
    configuration = Configuration(generation=1, profiles=(profile,), source="")
    return str(configz(configuration, (), Options()))


async def test_services_of_plugins_are_listed_in_a_thread_of_their_own(served: Served) -> None:
    """Code of a plugin neither blocks the loop nor ends the process, and does not give endless endpoints."""
    threads: set[str] = set()

    class Odd(Talking):
        def endpoints(self) -> Mapping[str, contract.Endpoint]:
            threads.add(threading.current_thread().name)
            return {7: None, **{f"e{number}": lambda _: 1 for number in range(1000)}}  # type: ignore[dict-item]  # the fault

    class Ending(Talking):
        def endpoints(self) -> Mapping[str, contract.Endpoint]:
            raise SystemExit("enough")

    for plugin, count in ((Odd, 256), (Ending, 0)):
        parsed, registry = configured(("allocate",), ("gang", plugin), {})
        assert served.seen is not None
        inputs = CycleInputs(configuration=parsed.configuration, registry=registry, memory=Memory(), now=1.8e9)
        served.seen = replace(served.seen, inputs=inputs)
        status, found = await served.get("/apis/v1/__services__")

        assert status == 200
        assert sum("/talking/" in path for path in found["GET"]) == count
    assert threads == {"endpoints"}


async def test_an_endpoint_that_does_not_return_delays_nothing_but_endpoints(served: Served) -> None:
    """The caller gets 504, others get 503 until it returns, and what is no code of plugins is served."""
    returns = threading.Event()

    class Hanging(Talking):
        def endpoints(self) -> Mapping[str, contract.Endpoint]:
            return {"hangs": lambda _: returns.wait(), "works": lambda _: "yes"}

    parsed, registry = configured(("allocate",), ("gang", Hanging), {})
    assert served.seen is not None
    inputs = CycleInputs(configuration=parsed.configuration, registry=registry, memory=Memory(), now=1.8e9)
    served.seen = replace(served.seen, inputs=inputs)
    served.services.limit_seconds = 0.01
    try:
        assert await served.get("/apis/v1/plugins/talking/hangs") == (504, "talking/hangs did not answer in 0.01 s\n")
        assert await served.get("/apis/v1/plugins/talking/works") == (503, "talking/hangs has not returned yet\n")
        assert (await served.get("/apis/v1/nodes/n1"))[0] == 200
    finally:
        returns.set()
        served.services.limit_seconds = 60.0
    while (answer := await served.get("/apis/v1/plugins/talking/works"))[0] == 503:  # noqa: ASYNC110  # no event marks the end of the call
        await asyncio.sleep(0)

    assert answer == (200, "yes")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("gangs", "gangs", {}),
        ("gang/{namespace}/{name}", "gang/a/b", {"namespace": "a", "name": "b"}),
        ("gang/{name}", "gang/a/b", None),
        ("gangs", "gang", None),
    ],
)
def test_paths_have_patterns(pattern: str, path: str, expected: Any) -> None:
    """Each part of a path is compared."""
    assert matched(pattern, path) == expected
