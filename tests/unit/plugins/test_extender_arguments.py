"""Extender: its arguments, and what is wrong with them."""

from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.extender import ExtenderArgs

PATH = "tiers[0].plugins[0].arguments"


def read(**more: Any) -> tuple[ExtenderArgs, list[str]]:
    """Decode arguments; keys without their prefix."""
    given = {"urlPrefix": "http://127.0.0.1:8713", "predicateVerb": "predicate", **more}
    return decode(ExtenderArgs, {f"extender.{key}": value for key, value in given.items()}, PATH)


def fault(**more: Any) -> str:
    """Return why arguments are refused."""
    with pytest.raises(ConfigError) as caught:
        read(**more)
    return str(caught.value)


def test_defaults() -> None:
    """One second, every failure counts, all pods."""
    args, warnings = read()

    assert (args.timeout_seconds, args.ignorable, args.managed_resources, warnings) == (1.0, False, (), [])
    assert args.prioritize_verb == ""


def test_example_of_volcano_is_read() -> None:
    """The configuration in Volcano's description of extenders, with all of its keys."""
    verbs = {
        f"{verb}Verb": verb
        for verb in (
            "onSessionOpen",
            "onSessionClose",
            "predicate",
            "prioritize",
            "preemptable",
            "reclaimable",
            "queueOverused",
            "jobEnqueueable",
        )
    }
    args, warnings = read(urlPrefix="http://127.0.0.1", httpTimeout="100ms", ignorable=True, **verbs)

    assert (args.url_prefix, args.timeout_seconds, args.ignorable, warnings) == ("http://127.0.0.1", 0.1, True, [])
    assert (args.on_session_open_verb, args.on_session_close_verb) == ("onSessionOpen", "onSessionClose")
    assert (args.predicate_verb, args.prioritize_verb) == ("predicate", "prioritize")
    assert (args.preemptable_verb, args.reclaimable_verb) == ("preemptable", "reclaimable")
    assert (args.queue_overused_verb, args.job_enqueueable_verb) == ("queueOverused", "jobEnqueueable")


def test_without_an_address_the_configuration_is_refused() -> None:
    """And the key is named."""
    assert fault(urlPrefix="") == (
        f"{PATH}.extender.urlPrefix: got '', expected the address of the extender, such as http://127.0.0.1:8713"
    )
    with pytest.raises(ConfigError, match=r"extender\.urlPrefix"):
        decode(ExtenderArgs, {}, PATH)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:8713", "ftp://there", "http://", "http://there:port", "http://there/?a=b", "http://there/#a", 7],
)
def test_an_address_that_is_none(address: Any) -> None:
    """Neither half of one, nor one with more to it."""
    assert "extender.urlPrefix" in fault(urlPrefix=address)


def test_credentials_in_an_address_are_refused_and_not_repeated() -> None:
    """Addresses stand in conditions of pods, which many may read."""
    told = fault(urlPrefix="https://user:secret@there")

    assert "extender.urlPrefix" in told
    assert "secret" not in told


@pytest.mark.parametrize(
    ("prefix", "url"),
    [
        ("http://there", "http://there/predicate"),
        ("http://there///", "http://there/predicate"),
        ("https://there:1/v1/", "https://there:1/v1/predicate"),
    ],
)
def test_slashes_at_the_end_are_taken_off(prefix: str, url: str) -> None:
    """Verbs are put behind one."""
    args, _ = read(urlPrefix=prefix)

    assert args.url(args.predicate_verb) == url


@pytest.mark.parametrize(("text", "seconds"), [("100ms", 0.1), ("2s", 2.0), ("1m30s", 90.0), ("2m", 120.0)])
def test_timeouts(text: str, seconds: float) -> None:
    """As Go writes durations."""
    args, warnings = read(httpTimeout=text)

    assert (args.timeout_seconds, warnings) == (seconds, [])


@pytest.mark.parametrize("text", ["soon", "", "0s", "-1s", "2m1s", "1", 3])
def test_a_timeout_that_is_none_is_one_second(text: Any) -> None:
    """And is warned of: neither for ever, nor no time at all."""
    args, warnings = read(httpTimeout=text)

    assert args.timeout_seconds == 1.0
    expected = "a duration above 0s and at most 2m, such as 100ms"
    assert warnings == [f"{PATH}.extender.httpTimeout: got {text!r}, expected {expected}; the default '1s' is kept"]


def test_a_verb_that_is_no_text_is_none() -> None:
    """The hook is not there, and the value is warned of."""
    args, warnings = read(prioritizeVerb=["prioritize"])

    assert args.prioritize_verb == ""
    assert len(warnings) == 1
    assert "extender.prioritizeVerb" in warnings[0]


@pytest.mark.parametrize("value", ["true", "T", True, "1"])
def test_booleans(value: Any) -> None:
    """As lenient as everywhere."""
    assert read(ignorable=value)[0].ignorable


def test_managed_resources() -> None:
    """A list of names."""
    assert read(managedResources=["nvidia.com/gpu", "nvidia.com/gpumem"])[0].managed_resources == (
        "nvidia.com/gpu",
        "nvidia.com/gpumem",
    )


@pytest.mark.parametrize("value", ["nvidia.com/gpu", {"nvidia.com/gpu": 1}, [1], [""], 7, True])
def test_managed_resources_that_are_no_list_are_refused(value: Any) -> None:
    """Else a typing error would decide whether an extender receives pods."""
    assert "extender.managedResources" in fault(managedResources=value)


def test_nothing_to_ask_is_warned_of() -> None:
    """An extender without verbs does nothing."""
    _, warnings = read(predicateVerb="")

    assert warnings == [f"{PATH}.extender.urlPrefix: has no effect, because no verb is set"]
