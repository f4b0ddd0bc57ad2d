"""Raw arguments become typed ones."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.framework.configuration.arguments import argument, decode, keys_of
from pyroclast.model.durations import parse_duration
from pyroclast.model.errors import ArgumentError, ConfigError

PATH = "tiers[1].plugins[0].arguments"


class Strategy(StrEnum):
    """An enumeration as plugins have them."""

    LEAST = "LeastAllocated"
    MOST = "MostAllocated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One part of a shape."""

    utilization: int
    score: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Every kind of field."""

    weight: int = argument("binpack.weight", 1, least=0)
    resources: Mapping[str, int] = argument("binpack.resources", {}, prefix="binpack.resources.", listed=1, least=0)
    zones: Mapping[str, str] = argument(prefix="tdm.revocable-zone.", default={})
    factor: Fraction = argument("overcommit-factor", Fraction(6, 5), least=1)  # declares a field
    waiting: Fraction | None = argument("sla-waiting-time", None, parse=parse_duration)  # as above
    managed: tuple[str, ...] = argument("extender.managedResources", ())
    strict_weight: int = argument("volumebinding.weight", 1, refuse=True)
    shape: tuple[Point, ...] = argument("volumebinding.shape", (Point(utilization=0, score=10),), refuse=True)
    strategy: Strategy = Strategy.LEAST
    mode: Literal["hard", "soft"] = "soft"
    prefer_weight: float = 10.0
    require_match: bool = False
    prefix: str = ""
    size: int | str = 0


def read(**raw: Any) -> tuple[Args, list[str]]:
    """Decode arguments given by keyword, where `__` stands for a dot."""
    return decode(Args, {key.replace("__", "."): value for key, value in raw.items()}, PATH)


def test_absent_keys_keep_their_defaults() -> None:
    """Nothing written, nothing warned."""
    assert read() == (Args(), [])


@pytest.mark.parametrize(
    ("value", "weight"), [(5, 5), ("5", 5), (5.0, 5), ("5.0", 5), (" 7 ", 7), ("1e3", 1000), (2**31 - 1, 2**31 - 1)]
)
def test_whole_numbers_are_read_however_written(value: object, weight: int) -> None:
    """`weight: "5"` and `weight: 5.0` are five."""
    assert read(binpack__weight=value) == (Args(weight=weight), [])


@pytest.mark.parametrize("value", ["1_000", "\uff11\uff12", "\u0663", "1__0"])
def test_digits_that_go_does_not_read_are_no_number(value: str) -> None:
    """Volcano keeps the default too."""
    arguments, (warning,) = read(binpack__weight=value)

    assert arguments == Args()
    assert warning == f"{PATH}.binpack.weight: got {value!r}, expected a whole number; the default 1 is kept"


@pytest.mark.parametrize(
    ("key", "value", "doubt"),
    [
        ("volcano.weight", -5, "got -5, probably not meant: it is negative"),
        ("change", -0.5, "got -0.5, probably not meant: it is negative"),
        ("volcano.weight", 2**31, "got 2147483648, probably not meant: it exceeds 31 bits"),
        ("importance.cpu", -1, "got -1, probably not meant: it is negative"),
        ("importance", {"cpu": 2**63 - 1}, "got 9223372036854775807, probably not meant: it exceeds 31 bits"),
    ],
)
def test_numbers_that_are_probably_not_meant_are_taken_with_a_warning(key: str, value: object, doubt: str) -> None:
    """Fields without bounds take what Volcano takes."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Unbounded:
        weight: int = argument("volcano.weight", 1)
        change: float = argument("change", 1.0)
        importance: Mapping[str, int] = argument("importance", {}, prefix="importance.")

    arguments, (warning,) = decode(Unbounded, {key: value}, PATH)

    assert arguments != Unbounded()
    assert warning == f"{PATH}.{key}{'.cpu' if isinstance(value, dict) else ''}: {doubt}"


@pytest.mark.parametrize(
    "value",
    ["x", "5.5", 5.5, True, None, [], {}, "", float("nan"), float("inf"), 2**63, "1" * 5000, "9e99", "0x10", "1__0"],
)
def test_what_is_no_whole_number_keeps_the_default_and_warns(value: object) -> None:
    """A mismatch is named with path, value and what was expected; null is one."""
    args, warnings = read(binpack__weight=value)

    assert args == Args()
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{PATH}.binpack.weight: got ")
    assert warnings[0].endswith(", expected a whole number; the default 1 is kept")


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_go_booleans_are_true(text: str) -> None:
    """The vocabulary of Go's ParseBool, quoted."""
    assert decode(Args, {"require-match": text}, PATH) == (Args(require_match=True), [])


@pytest.mark.parametrize("value", [1, 0, "yes", "on", "tRUE", None, "", 1.0])
def test_other_values_are_no_booleans(value: object) -> None:
    """Numbers and other words keep the default."""
    args, warnings = decode(Args, {"require-match": value}, PATH)

    assert args == Args()
    assert warnings[0].endswith("expected true or false; the default False is kept")


@pytest.mark.parametrize("key", ["prefer-weight", "prefer.weight", "prefer_weight", "preferWeight"])
def test_hyphens_and_dots_are_aliases_of_fields(key: str) -> None:
    """A field without a spelling of its own is found by any of the customary ones."""
    assert decode(Args, {key: "2.5"}, PATH) == (Args(prefer_weight=2.5), [])


def test_of_two_spellings_one_holds_and_the_other_warns() -> None:
    """The customary form holds."""
    args, warnings = decode(Args, {"prefer_weight": 1, "prefer-weight": 2}, PATH)

    assert args.prefer_weight == 2.0
    assert warnings == [f"{PATH}.prefer_weight: has no effect beside 'prefer-weight'"]


def test_a_list_of_names_with_a_weight_each() -> None:
    """Listed names without a weight get the customary one; the order is that of the list."""
    raw = {"binpack.resources": "nvidia.com/gpu, example.com/foo", "binpack.resources.nvidia.com/gpu": "7"}

    assert decode(Args, raw, PATH) == (Args(resources={"nvidia.com/gpu": 7, "example.com/foo": 1}), [])


def test_the_weight_of_a_name_not_listed_warns() -> None:
    """It has no effect, as in Volcano."""
    args, warnings = decode(Args, {"binpack.resources.foo": 3}, PATH)

    assert args == Args()
    assert warnings == [f"{PATH}.binpack.resources.foo: has no effect, binpack.resources does not list 'foo'"]


def test_a_bad_weight_keeps_the_customary_one() -> None:
    """Negative and mistyped weights are named by their own key."""
    raw = {"binpack.resources": "a,b", "binpack.resources.a": -1, "binpack.resources.b": "x"}

    args, warnings = decode(Args, raw, PATH)

    assert args.resources == {"a": 1, "b": 1}
    assert warnings == [
        f"{PATH}.binpack.resources.a: got -1, expected at least 0; 1 is kept",
        f"{PATH}.binpack.resources.b: got 'x', expected a whole number; 1 is kept",
    ]


def test_a_prefix_alone_collects_every_name() -> None:
    """Without a list each name counts; the bare prefix is no name."""
    args, warnings = decode(Args, {"tdm.revocable-zone.rz1": "1:00-2:00", "tdm.revocable-zone.": "x"}, PATH)

    assert args.zones == {"rz1": "1:00-2:00"}
    assert warnings == [f"{PATH}.tdm.revocable-zone.: unknown argument (did you mean 'tdm.revocable-zone.<name>'?)"]


def test_fractions_are_what_was_written() -> None:
    """1.2 is six fifths, quoted or not."""
    assert decode(Args, {"overcommit-factor": 1.3}, PATH)[0].factor == Fraction(13, 10)
    assert decode(Args, {"overcommit-factor": "1.3"}, PATH)[0].factor == Fraction(13, 10)


def test_a_value_below_its_least_keeps_the_default_and_warns() -> None:
    """An overcommit factor below 1 is replaced, and said so."""
    args, warnings = decode(Args, {"overcommit-factor": 0.8}, PATH)

    assert args == Args()
    assert warnings == [f"{PATH}.overcommit-factor: got 0.8, expected at least 1; the default 6/5 is kept"]


def test_durations_are_read_by_their_own_reader() -> None:
    """A number is no duration: the default stays."""
    assert decode(Args, {"sla-waiting-time": "1h"}, PATH)[0].waiting == 3600
    args, warnings = decode(Args, {"sla-waiting-time": 1}, PATH)
    assert args.waiting is None
    assert "expected a duration such as 1h30m" in warnings[0]


def test_names_are_a_list_or_a_text_with_commas() -> None:
    """Both forms give the same."""
    assert decode(Args, {"extender.managedResources": ["a", "b"]}, PATH)[0].managed == ("a", "b")
    assert decode(Args, {"extender.managedResources": "a, b,"}, PATH)[0].managed == ("a", "b")


def test_nested_structures_match_names_without_regard_to_case() -> None:
    """As Volcano's structured arguments do."""
    args, warnings = decode(Args, {"volumebinding.shape": [{"Utilization": 50, "score": "3"}]}, PATH)

    assert args.shape == (Point(utilization=50, score=3),)
    assert warnings == []


def test_all_faults_are_reported_at_once_with_the_path_inside_the_value() -> None:
    """Values that Volcano exits on refuse the configuration."""
    raw = {"volumebinding.weight": "x", "volumebinding.shape": [{"utilization": 1}, {"utilization": "y"}]}

    with pytest.raises(ConfigError) as caught:
        decode(Args, raw, PATH)

    assert caught.value.faults == (
        f"{PATH}.volumebinding.weight: got 'x', expected a whole number",
        f"{PATH}.volumebinding.shape[1].utilization: got 'y', expected a whole number",
    )


def test_a_quoted_number_is_no_fault_where_mismatches_are() -> None:
    """Quoted numbers are accepted everywhere."""
    assert decode(Args, {"volumebinding.weight": "5"}, PATH) == (Args(strict_weight=5), [])


def test_choices_are_enumerations_and_literals() -> None:
    """Anything else keeps the default and lists the choices."""
    assert decode(Args, {"strategy": "MostAllocated", "mode": "hard"}, PATH)[0] == Args(
        strategy=Strategy.MOST, mode="hard"
    )
    _, warnings = decode(Args, {"strategy": "Most", "mode": True}, PATH)
    assert "expected one of LeastAllocated, MostAllocated" in warnings[0]
    assert "expected one of hard, soft" in warnings[1]


def test_texts_are_texts_only() -> None:
    """A number is not taken for a text."""
    args, warnings = decode(Args, {"prefix": 5}, PATH)

    assert args == Args()
    assert warnings == [f"{PATH}.prefix: got 5, expected a text; the default '' is kept"]


def test_alternatives_are_tried_in_order() -> None:
    """A number where one is meant, else a quantity as text."""
    assert decode(Args, {"size": "250"}, PATH)[0].size == 250
    assert decode(Args, {"size": "200Mi"}, PATH)[0].size == "200Mi"


def test_unknown_keys_warn_with_the_nearest() -> None:
    """A slip of the pen is named with what was probably meant; far ones without."""
    _, warnings = decode(Args, {"binpak.weight": 1, "zzz": 1}, PATH)

    assert warnings == [
        f"{PATH}.binpak.weight: unknown argument (did you mean 'binpack.weight'?)",
        f"{PATH}.zzz: unknown argument",
    ]


def test_keys_are_known_by_their_customary_spelling() -> None:
    """Documentation and hints list them."""
    assert keys_of(Args)[:3] == ("binpack.weight", "overcommit-factor", "sla-waiting-time")
    assert "tdm.revocable-zone.<name>" in keys_of(Args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Arguments that check themselves."""

    name: str = argument("checked.name")
    low: int = 0
    high: int = 10

    def __post_init__(self) -> None:
        """Refuse ranges that are none."""
        if self.low > self.high:
            raise ArgumentError("low", self.low, f"at most high ({self.high})")
        if self.high == 99:
            raise ValueError("high is 99")


def test_a_range_that_the_dataclass_refuses_is_a_fault_with_path() -> None:
    """Its own check knows the keys, the path is put before them."""
    with pytest.raises(ConfigError, match=r"^p\.low: got 11, expected at most high \(10\)$"):
        decode(Checked, {"checked.name": "a", "low": 11}, "p")


def test_any_refusal_of_a_dataclass_from_outside_is_a_fault() -> None:
    """A ValueError is no crash."""
    with pytest.raises(ConfigError, match=r"^p: high is 99$"):
        decode(Checked, {"checked.name": "a", "high": 99}, "p")


@pytest.mark.parametrize(("raw", "fault"), [({}, "missing"), ({"checked.name": 5}, "got 5, expected a text")])
def test_a_key_without_default_must_be_given(raw: dict[str, Any], fault: str) -> None:
    """There is nothing to fall back on, so it is a fault."""
    with pytest.raises(ConfigError, match=rf"^p\.checked\.name: {fault}"):
        decode(Checked, raw, "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A structure with a check of its own."""

    low: int = 0
    high_mark: int = 10

    def __post_init__(self) -> None:
        """Refuse ranges that are none."""
        if self.low > self.high_mark:
            raise ArgumentError("low", self.low, f"at most {self.high_mark}")
        if self.low == -1:
            raise ValueError("not -1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A structure in a structure."""

    name: str = ""
    marks: Marks | None = None
    by_name: Mapping[str, Marks] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """Arguments whose values have something inside."""

    rules: tuple[Rule, ...] = argument("rules", (Rule(name="first"),))
    marks: Marks | None = argument("marks", None, refuse=True)
    dotted: int = argument("extra.marks.low", 0)


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ([{"marks": {"low": "x"}}], "rules[0].marks.low: got 'x', expected a whole number"),
        ([{}, {"byName": {"a": {"highMark": []}}}], "rules[1].byName.a.highMark: got [], expected a whole number"),
        ([{"marks": {"low": 11}}], "rules[0].marks.low: got 11, expected at most 10"),
        ([{"marks": {"low": -1}}], "rules[0].marks: got {'low': -1}, expected not -1"),
        ([{"marks": 5}], "rules[0].marks: got 5, expected a mapping"),
        (["x"], "rules[0]: got 'x', expected a mapping"),
    ],
)
def test_faults_inside_a_value_have_their_whole_path(raw: object, where: str) -> None:
    """Through lists, mappings, structures, and what need not be there."""
    args, warnings = decode(Nested, {"rules": raw}, PATH)

    assert args == Nested()
    assert warnings == [f"{PATH}.{where}; the default [{{name: 'first', marks: None, byName: {{}}}}] is kept"]


def test_all_faults_inside_a_value_are_reported_at_once() -> None:
    """One start shows all faults."""
    with pytest.raises(ConfigError) as caught:
        decode(Nested, {"marks": {"low": "x", "highMark": "y"}, "rules": 5}, PATH)

    assert [fault.partition(":")[0] for fault in caught.value.faults] == [f"{PATH}.marks.low", f"{PATH}.marks.highMark"]
    _, warnings = decode(Nested, {"rules": [{"name": 1}, {"marks": {"low": [], "highMark": []}}]}, PATH)
    assert [warning.partition(":")[0] for warning in warnings] == [
        f"{PATH}.rules[0].name",
        f"{PATH}.rules[1].marks.low",
        f"{PATH}.rules[1].marks.highMark",
    ]


def test_unknown_keys_inside_a_value_warn_with_the_nearest() -> None:
    """Also where the value can be used otherwise; case does not matter, a null is no value."""
    raw = {"rules": [{"nam": "a", "Marks": {"hihgMark": 3}, "by_name": None, "byName": None}]}

    args, warnings = decode(Nested, raw, PATH)

    assert args.rules == (Rule(marks=Marks()),)
    assert warnings == [
        f"{PATH}.rules[0].nam: unknown argument (did you mean 'name'?)",
        f"{PATH}.rules[0].Marks.hihgMark: unknown argument (did you mean 'highMark'?)",
        f"{PATH}.rules[0].by_name: unknown argument (did you mean 'byName'?)",
    ]


def test_a_mapping_in_place_of_keys_with_dots_hints_at_them() -> None:
    """The structure of other files, where this one has long keys."""
    _, warnings = decode(Args, {"binpack": {"weight": 5}, "tdm": {"revocable-zone": {"a": "x"}}}, PATH)

    assert warnings == [
        f"{PATH}.binpack: unknown argument (did you mean 'binpack.weight'?)",
        f"{PATH}.tdm: unknown argument (did you mean 'tdm.revocable-zone.<name>'?)",
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*keys_of(Args), "binpack.resources.a", "tdm.revocable-zone.z"]), JSON))
def test_whatever_stands_there_gives_arguments_or_faults(raw: dict[str, Any]) -> None:
    """No value makes the reader stumble."""
    with contextlib.suppress(ConfigError):
        args, warnings = decode(Args, raw, PATH)
        assert isinstance(args.weight, int)
        assert args.factor >= 1
        assert all(warning.startswith(PATH) for warning in warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """Arguments with others inside."""

    limits: Args = argument("limits", Args(), nested=True)

    def doubts(self) -> list[str]:
        """What is read otherwise than it is written."""
        return ["limits: doubted"] if self.limits.weight > 1 else []


def test_arguments_inside_arguments_keep_their_own_defaults() -> None:
    """A wrong value inside warns with its whole path and leaves its neighbours alone; a fault inside is a fault."""
    args, warnings = decode(Outer, {"limits": {"binpack.weight": -1, "overcommit-factor": 2}}, PATH)

    assert (args.limits.weight, args.limits.factor) == (1, Fraction(2))
    assert [warning.split(": ")[0] for warning in warnings] == [f"{PATH}.limits.binpack.weight"]
    with pytest.raises(ConfigError, match=r"limits\.volumebinding\.weight"):
        decode(Outer, {"limits": {"volumebinding.weight": "heavy"}}, PATH)


def test_doubts_of_a_dataclass_are_warnings() -> None:
    """With the path before them."""
    assert decode(Outer, {"limits": {"binpack.weight": 2}}, PATH)[1] == [f"{PATH}.limits: doubted"]
