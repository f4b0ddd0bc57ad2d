"""Pods that an extender binds: what it is asked, and what its answers mean."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.extension.outside import Question
from pyroclast.kube.writes.binding import DelegateError
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.extenders.binding import ExtenderBinding
from pyroclast.scheduler.extenders.client import NoReplyError
from pyroclast.scheduler.registry import load_registry
from pyroclast.testing import Scenario
from tests.unit.plugins.extending import URL, Service, arguments, decided

BIND = Bind(
    task=TaskId("u1"),
    job=None,
    namespace="default",
    name="a-0",
    node=NodeName("n1"),
    annotations={"example.com/device": "7"},
    delegate="binder",
)


class Client:
    """Answers as a test says, and notes what it is asked."""

    def __init__(self, answer: bytes | Exception) -> None:
        self.answer = answer
        self.asked: list[Question] = []

    async def post(self, question: Question) -> bytes:
        """Answer."""
        self.asked.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def configuration(generation: int = 1, **more: Any) -> Configuration:
    """Return one with an extender that binds."""
    given: Mapping[str, Any] = {
        "actions": "allocate",
        "tiers": [{"plugins": [{"name": "extender", "instance": "binder", "arguments": arguments("bind", **more)}]}],
    }
    text = msgspec.json.encode(given).decode()
    return read_configuration(text, load_registry(""), generation=generation).configuration


def binding(answer: bytes | Exception, **more: Any) -> tuple[ExtenderBinding, Client]:
    """Bind through an extender."""
    client = Client(answer)
    made = ExtenderBinding(client)  # type: ignore[arg-type]  # of the client only this is asked
    made.follow(configuration(**more))
    return made, client


async def test_it_is_asked_as_kube_scheduler_asks() -> None:
    """With the annotations that our Binding would carry."""
    made, client = binding(b'{"error": ""}', httpTimeout="250ms")

    assert await made.bind(BIND)
    (question,) = client.asked
    assert (question.url, question.timeout_seconds) == (f"{URL}/bind", 0.25)
    assert msgspec.json.decode(question.body) == {
        "podName": "a-0",
        "podNamespace": "default",
        "podUID": "u1",
        "node": "n1",
        "annotations": {"example.com/device": "7"},
    }


@pytest.mark.parametrize("answer", [b"{}", b'{"error": null}', b'{"error": "", "more": 1}'])
async def test_no_error_is_a_bind(answer: bytes) -> None:
    """Whatever else stands there."""
    assert await binding(answer)[0].bind(BIND)


@pytest.mark.parametrize("ignorable", [False, True])
async def test_an_error_refuses(ignorable: bool) -> None:
    """Even of an extender that may be ignored: it did answer."""
    with pytest.raises(DelegateError, match="binder did not bind: no licence left"):
        await binding(b'{"error": "no licence left"}', ignorable=ignorable)[0].bind(BIND)


FAILURES: tuple[Any, Any] = (
    ("answer", "words"),
    [
        (NoReplyError(", code 500"), "code 500"),
        (NoReplyError(": no answer within 1 s"), "no answer within 1 s"),
        (b"{", "no JSON"),
        (b"[]", "wrong shape"),
        (b'{"error": 7}', "wrong shape"),
    ],
)


@pytest.mark.parametrize(*FAILURES)
async def test_without_an_answer_the_bind_failed(answer: bytes | Exception, words: str) -> None:
    """And says where it was asked."""
    with pytest.raises(DelegateError, match=f"failed bind with extender at URL {URL}/bind.*{words}"):
        await binding(answer)[0].bind(BIND)


@pytest.mark.parametrize(*FAILURES)
async def test_without_an_answer_that_may_be_ignored_it_is_left_to_us(answer: bytes | Exception, words: str) -> None:
    """The scheduler binds."""
    assert words
    assert not await binding(answer, ignorable=True)[0].bind(BIND)


async def test_a_removed_extender_binds_no_pod() -> None:
    """A plan of the earlier configuration finds no extender."""
    made, client = binding(b"{}")
    made.follow(read_configuration("actions: allocate\n", load_registry(""), generation=2).configuration)

    with pytest.raises(DelegateError, match="not configured"):
        await made.bind(BIND)
    assert client.asked == []


async def test_a_configuration_is_read_once() -> None:
    """It is followed before every cycle."""
    made, client = binding(b"{}")
    made.follow(configuration(httpTimeout="9s"))  # the same generation

    await made.bind(BIND)
    assert client.asked[0].timeout_seconds == 1.0


@pytest.mark.parametrize(("resources", "delegate"), [([], "extender"), (["nvidia.com/gpu"], msgspec.UNSET)])
def test_plans_name_the_binder(resources: list[str], delegate: str | msgspec.UnsetType) -> None:
    """For pods that the extender manages, the binder is the extender."""
    outcome = decided(Scenario().node("n1").job("a"), Service(bind={}), managedResources=resources)

    ((bind,),) = (plan.binds for plan in outcome.rounds[0].plans)
    assert bind.delegate == delegate
    assert (b"delegate" in msgspec.json.encode(bind)) is isinstance(delegate, str)  # records stay as they were
