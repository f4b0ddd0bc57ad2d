"""The law that no text of a configuration is beyond an answer: `config check` and the reader name each fault."""

import json
from pathlib import Path as File
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.cycles import built_in, everything
from pyroclast.framework.configuration.arguments import keys_of
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.main import main
from pyroclast.scheduler.daemon.settings import read_configuration
from tests.drawing import examples
from tests.laws.junk import JUNK, Path, paths, planted

PROFILE = settings(
    max_examples=examples(60, deep=4000),
    phases=(Phase.explicit, Phase.generate),  # a failing text is read as it is: shrinking one of its size takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
REGISTRY = built_in()
TAGS = ("!!timestamp", "!!bool", "!!int", "!!float", "!!binary", "!!set", "!!omap", "!!pairs", "!!python/name:os", "!x")
VALUES = ("x", "maybe", '""', "[1, 2]", "{a: 1}", "[[1], [2]]", "9" * 5000, "0b", "1:99", "2026-13-45", "&a [*a]", "<<")


def whole() -> dict[str, Any]:
    """Return a configuration in which every plugin and action has every argument of its own."""
    document: dict[str, Any] = yaml.safe_load(everything())
    for tier in document["tiers"]:
        for option in tier["plugins"]:
            kind = REGISTRY.argument_types().get(option["name"])
            keys = [] if kind is None else keys_of(kind)
            option["arguments"] = {key.replace("<name>", "cpu"): 1 for key in keys} | option.get("arguments", {})
    document["configurations"] = [
        {"name": name, "arguments": dict.fromkeys(keys_of(kind), 1)}
        for name, kind in REGISTRY.action_argument_types().items()
    ]
    document["metrics"] = {"type": "prometheus", "address": "http://p:9090", "interval": "30s"}
    document["profiles"] = [{"schedulerName": "other", "actions": "allocate", "tiers": [{"plugins": []}]}]
    return document


WHOLE = whole()
PLACES = [(0, path) for path in paths(WHOLE)]


def is_answered(text: str) -> bool:
    """Return whether a text becomes a configuration, or faults that each are one line."""
    try:
        read_configuration(text, REGISTRY)
    except ConfigError as error:
        return bool(error.faults) and not any("\n" in fault for fault in error.faults)
    return True


def is_checked(text: str, file: File) -> bool:
    """Return whether `config check` ends with a verdict."""
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    return main(["config", "check", str(file)]) in (0, 1)


@PROFILE
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=4))
def test_any_value_in_any_field_is_answered(
    changes: list[tuple[tuple[int, Path], Any]], tmp_path: File, capsys: pytest.CaptureFixture[str]
) -> None:
    """The configuration is read, or refused with its faults."""
    (document,) = planted([WHOLE], changes)
    text = json.dumps(document)

    assert is_answered(text)
    assert is_checked(text, tmp_path / "file")
    capsys.readouterr()


@PROFILE
@given(at=st.sampled_from(PLACES), tag=st.sampled_from(TAGS), value=st.sampled_from(VALUES))
def test_any_tag_is_answered(
    at: tuple[int, Path], tag: str, value: str, tmp_path: File, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tag that does not fit its value is a fault of the text."""
    (document,) = planted([WHOLE], [(at, "MARK")])
    text = json.dumps(document).replace('"MARK"', f"{tag} {value}")

    assert is_answered(text)
    assert is_checked(text, tmp_path / "file")
    capsys.readouterr()


@PROFILE
@given(
    cuts=st.lists(
        st.tuples(
            st.integers(0, 20_000), st.integers(0, 5), st.sampled_from(["", "\t", "\n", ":", "- ", "{", "\x00", "&"])
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_damage_of_the_text_is_answered(
    cuts: list[tuple[int, int, str]], tmp_path: File, capsys: pytest.CaptureFixture[str]
) -> None:
    """Characters are lost or put in anywhere."""
    text = yaml.safe_dump(WHOLE, sort_keys=False)
    for start, length, put in cuts:
        at = start % len(text)
        text = text[:at] + put + text[at + length :]

    assert is_answered(text)
    assert is_checked(text, tmp_path / "file")
    capsys.readouterr()
