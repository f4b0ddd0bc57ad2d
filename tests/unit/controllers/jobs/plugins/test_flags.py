import pytest

from pyroclast.controllers.jobs.plugins.flags import parse
from pyroclast.controllers.jobs.plugins.pytorch import PyTorchFlags


@pytest.mark.parametrize(
    "arguments",
    [["--port=5000"], ["-port=5000"], ["--port", "5000"], ["--port=0x1388"], ["--port=5000", "--", "rest"]],
)
def test_spellings_of_a_value(arguments: list[str]) -> None:
    """One dash or two, `=` or the next argument, any base; after `--` nothing is read."""
    flags, faults = parse(PyTorchFlags, "pytorch", arguments)

    assert (flags.port, faults) == (5000, ())


@pytest.mark.parametrize(
    ("argument", "value"),
    [("--wait-master-enabled", True), ("--wait-master-enabled=T", True), ("--wait-master-enabled=0", False)],
)
def test_spellings_of_a_bool(argument: str, value: bool) -> None:
    """A bool alone means true."""
    flags, faults = parse(PyTorchFlags, "pytorch", [argument])

    assert (flags.wait_master_enabled, faults) == (value, ())


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("--prot=1", "a flag of: --master"),
        ("port=1", "a flag of: --master"),
        ("--port=many", "a flag with a whole number"),
        ("--port", "a flag with a value"),
        ("--wait-master-enabled=perhaps", "a flag that is true or false"),
        ("", "a flag of"),
    ],
)
def test_invalid_values_are_reported(argument: str, expected: str) -> None:
    """What stands before it holds; the fault names place, value and what was expected."""
    flags, (fault,) = parse(PyTorchFlags, "pytorch", ["--master=boss", argument])

    assert (flags.master, flags.port) == ("boss", 23456)
    assert (fault.path, fault.value) == ("spec.plugins[pytorch][1]", argument)
    assert fault.expected.startswith(expected)
    assert not fault.is_fatal
