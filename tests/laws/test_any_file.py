"""The law that no file of objects is beyond an answer: `simulate` decides or names the fault. Quantities likewise."""

import json
from fractions import Fraction
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pyroclast.model.errors import ConfigError
from pyroclast.model.quantity import QuantityError, millis, parse, units
from pyroclast.scheduler.cli.main import main
from tests.drawing import examples
from tests.laws.junk import JUNK, Path, paths, planted
from tests.laws.test_any_case import GANG, NODES, POD

PROFILE = settings(
    max_examples=examples(40, deep=5000),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
OBJECTS: list[dict[str, Any]] = [
    *({"kind": "Node", **node} for node in NODES),
    {"kind": "Queue", "metadata": {"name": "q"}, "spec": {"weight": 1, "guarantee": {"resource": {"cpu": "1"}}}},
    {"kind": "PodGroup", **GANG},
    {"kind": "Pod", **POD},
    {"kind": "List", "items": [{"kind": "Pod", **POD}]},
]
PLACES = [(number, path) for number, each in enumerate(OBJECTS) for path in paths(each)]
VALUES = st.one_of(
    JUNK,
    st.sampled_from(["!!timestamp x", "!!bool maybe", '!!int ""', '!!float ""', "!!set [1]", "!!binary é", "&a [*a]"]),
)


@PROFILE
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=4))
def test_any_value_in_any_object_is_answered(
    changes: list[tuple[tuple[int, Path], Any]], tmp_path: File, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 0 with decisions, 1 with a message, or a fault of the configuration."""
    text = "\n---\n".join(map(json.dumps, planted(OBJECTS, changes)))
    for _, value in changes:
        if isinstance(value, str) and value.startswith(("!!", "&")):
            text = text.replace(json.dumps(value), value)
    file = tmp_path / "objects.yaml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        status = main(["simulate", "-f", str(file), "--now", "2027-01-01T00:00:00Z"])
    except ConfigError:
        status = 2

    assert status in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err


@settings(max_examples=examples(500, deep=30_000))
@given(
    st.one_of(
        st.text(max_size=12),
        st.text("0123456789.eE+-munkMGTPEi_ \uff11\u0663", max_size=12),
        st.integers(-(2**80), 2**80),
        st.floats(),
    )
)
def test_any_quantity_is_read_or_refused(value: str | float) -> None:
    """Amounts stay within 64 bits."""
    try:
        exact = parse(value)
    except QuantityError:
        return
    assert isinstance(exact, Fraction)
    assert abs(units(value)) <= 2**63 - 1
    assert abs(millis(value)) <= 2**63 - 1
