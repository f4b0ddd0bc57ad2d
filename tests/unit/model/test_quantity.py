"""Quantities are read as Kubernetes reads them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.quantity import (
    MAX_AMOUNT,
    QuantityError,
    format_bytes,
    format_count,
    format_millis,
    millis,
    parse,
    units,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("12", 12),
        ("-12", -12),
        ("+3", 3),
        ("100m", Fraction(1, 10)),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1u", Fraction(1, 10**6)),
        ("1n", Fraction(1, 10**9)),
        ("1Ki", 1024),
        ("1.5Gi", 1536 * 2**20),
        ("1Ei", 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e-3", Fraction(1, 1000)),
        ("1E+2", 100),
        (3, 3),
        (0.1, Fraction(1, 10)),
        (1e22, MAX_AMOUNT),
    ],
)
def test_reads_every_suffix_and_exponent(text: str | float, value: Fraction | int) -> None:
    """Every form of the grammar has its exact value; a JSON number counts as its text."""
    assert parse(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1K", "1ki", "1e", "1ee3", "1.2.3", ".", "m", "--1", "1e1.5", "1mi", "0x1", "\u0661", True, "nan"],
)
def test_refuses_what_is_no_quantity(text: str) -> None:
    """A text outside the grammar is refused by name."""
    with pytest.raises(QuantityError, match="is not a quantity") as caught:
        parse(text)

    assert caught.value.text == text


def test_not_a_number_is_refused() -> None:
    """The floats that JSON cannot have are refused too."""
    with pytest.raises(QuantityError):
        parse(float("inf"))


def test_rounds_below_a_billionth_away_from_zero() -> None:
    """A tenth of a nano is a nano, on both sides of zero."""
    assert parse("0.1n") == Fraction(1, 10**9)
    assert parse("-0.1n") == Fraction(-1, 10**9)
    assert parse("1e-30") == Fraction(1, 10**9)


def test_values_round_away_from_zero() -> None:
    """Value and MilliValue round up in size."""
    assert (units("100m"), units("-100m"), units("1001m")) == (1, -1, 2)
    assert (millis("100u"), millis("-100u"), millis("0.5")) == (1, -1, 500)


@pytest.mark.parametrize(
    ("text", "whole", "thousandths"),
    [
        ("16.6666666667Gi", 17_895_697_067, 17_895_697_066_703),
        ("3976.3766926586805Ti", 4_372_072_409_995_694, 4_372_072_409_995_693_066),
        ("982899193947987223982131E-12", 982_899_193_948, 982_899_193_947_988),
    ],
)
def test_large_amounts_are_rounded_below_a_billionth_too(text: str, whole: int, thousandths: int) -> None:
    """Billionths, in which what is rounded is counted, are more than 63 bits hold; numbers are apimachinery's."""
    assert (units(text), millis(text)) == (whole, thousandths)


def test_amounts_saturate_at_int64() -> None:
    """What does not fit into 63 bits counts as the largest that does."""
    assert units("100E") == MAX_AMOUNT
    assert units("-100E") == -MAX_AMOUNT
    assert millis("9E") == MAX_AMOUNT
    assert units("1e999999999") == MAX_AMOUNT


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (format_millis(1500), "1500m"),
        (format_millis(2000), "2"),
        (format_millis(0), "0"),
        (format_millis(-250), "-250m"),
        (format_bytes(2**30), "1Gi"),
        (format_bytes(1500), "1500"),
        (format_bytes(0), "0"),
        (format_bytes(3 * 2**20), "3Mi"),
        (format_count(1000), "1k"),
        (format_count(110), "110"),
    ],
)
def test_writes_canonical_texts(written: str, text: str) -> None:
    """Amounts are written back as Kubernetes would write them."""
    assert written == text


@given(st.integers(-MAX_AMOUNT, MAX_AMOUNT))
def test_what_is_written_reads_back(amount: int) -> None:
    """Writing and reading are inverse for each unit."""
    assert units(format_count(amount)) == amount
    assert units(format_bytes(amount)) == amount
    assert millis(format_millis(amount)) == amount


@given(
    st.integers(0, 10**9),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "Gi"]),
    st.integers(0, 10**9),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "Gi"]),
)
def test_order_is_kept(first: int, first_suffix: str, second: int, second_suffix: str) -> None:
    """A larger quantity never has fewer units or millis."""
    low, high = sorted((f"{first}{first_suffix}", f"{second}{second_suffix}"), key=parse)

    assert units(low) <= units(high)
    assert millis(low) <= millis(high)


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text does anything but give a value or the one error."""
    try:
        value = parse(text)
    except QuantityError:
        return

    assert -MAX_AMOUNT <= value <= MAX_AMOUNT


@pytest.mark.parametrize("text", ["9" * 5000, "1e" + "9" * 5000, "0." + "1" * 5000])
def test_numbers_without_end_are_refused(text: str) -> None:
    """Python would raise an error of its own; the message stays short."""
    with pytest.raises(QuantityError) as caught:
        parse(text)

    assert len(str(caught.value)) < 200
