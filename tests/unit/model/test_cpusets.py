"""Sets of CPUs as bits, and the texts that Linux writes them as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.cpusets import LARGEST_CPU, as_text, cpu_set, members, read_cpu, read_cpu_set

SETS = st.sets(st.integers(0, 300))


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", []),
        ("0", [0]),
        ("0,2-4", [0, 2, 3, 4]),
        ("1-1", [1]),
        ("7,0-1,1-2", [0, 1, 2, 7]),
        ("000007", [7]),
        (str(LARGEST_CPU), [LARGEST_CPU]),
    ],
)
def test_lists_of_cpus_are_read(text: str, cpus: list[int]) -> None:
    """Singles and ranges in any order, also where they overlap."""
    assert list(members(read_cpu_set(text))) == cpus


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (",", "'' is neither a CPU nor a range of CPUs such as 2-4"),
        ("1,", "'' is neither"),
        ("a", "'a' is neither"),
        ("-1", "'-1' is neither"),
        ("1-", "'1-' is neither"),
        ("1-2-3", "'1-2-3' is neither"),
        ("1 ,2", "'1 ' is neither"),
        ("\N{ARABIC-INDIC DIGIT ONE}", "'\N{ARABIC-INDIC DIGIT ONE}' is neither"),
        ("4-2", "the range '4-2' ends before it begins"),
        ("0-8192", "CPU 8192 is beyond 8191, the last one that a machine can have"),
        ("0-" + "9" * 5000, "CPU 99999999999999999999 is beyond 8191"),
    ],
)
def test_malformed_lists_are_named(text: str, fault: str) -> None:
    """Each with the part that is wrong; a number without end costs nothing."""
    with pytest.raises(ValueError, match=r"CPU|range") as caught:
        read_cpu_set(text)

    assert str(caught.value).startswith(fault)


@pytest.mark.parametrize("text", ["x" * 9999, "0" * 9999 + "4-2", "0" * 9999 + "-"])
def test_long_texts_are_shortened(text: str) -> None:
    """The beginning of a text is enough to find it."""
    with pytest.raises(ValueError, match=r"'.{63}…' ") as caught:
        read_cpu_set(text)

    assert len(str(caught.value)) < 140
    with pytest.raises(ValueError, match=r"^'.{63}…' is not the number of a CPU$"):
        read_cpu("x" * 9999)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "\N{SUPERSCRIPT TWO}"])
def test_what_is_no_number_of_a_cpu_is_named(text: str) -> None:
    """Keys of `cpuDetail` are numbers."""
    with pytest.raises(ValueError, match="is not the number of a CPU"):
        read_cpu(text)


@given(SETS)
def test_texts_and_sets_go_there_and_back(cpus: set[int]) -> None:
    """What is written reads as what it was."""
    bits = cpu_set(cpus)

    assert list(members(bits)) == sorted(cpus)
    assert read_cpu_set(as_text(bits)) == bits


def test_ranges_are_written_where_there_are_some() -> None:
    """As `lscpu` writes them."""
    assert as_text(cpu_set([0, 2, 3, 4, 7, 8])) == "0,2-4,7-8"


@given(SETS, SETS)
def test_arithmetic_is_that_of_sets(one: set[int], other: set[int]) -> None:
    """Union, intersection, difference and size."""
    left, right = cpu_set(one), cpu_set(other)

    assert left | right == cpu_set(one | other)
    assert left & right == cpu_set(one & other)
    assert left & ~right == cpu_set(one - other)
    assert left.bit_count() == len(one)
