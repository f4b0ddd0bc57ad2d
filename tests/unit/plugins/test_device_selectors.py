"""Selectors of devices: what an expression reads of a device, and how often it is evaluated."""

from typing import Any

import msgspec
import pytest

from pyroclast.model import wire
from pyroclast.model.cel.parser import CelError
from pyroclast.model.ids import NodeName
from pyroclast.plugins.predicates.devices.pools import DeviceId, Offer
from pyroclast.plugins.predicates.devices.selectors import DeviceExpression
from tests.device_claims import DRIVER, device

OWN = f'device.attributes["{DRIVER}"]'


def offer(name: str = "d", **attributes: Any) -> Offer:
    """A device that claims can get."""
    made = msgspec.convert(device(name, memory="16Gi", **attributes), wire.Device)
    return Offer(DeviceId(DRIVER, "pool", name), made, NodeName("n"), None, ())


def result(expression: str, **attributes: Any) -> bool | CelError:
    """Evaluate an expression for one device."""
    return DeviceExpression(expression).result(offer(**attributes))[0]


@pytest.mark.parametrize(
    "expression",
    [
        f'device.driver == "{DRIVER}"',
        "device.allowMultipleAllocations == false",
        f'"{DRIVER}" in device.attributes && !("other.com" in device.attributes)',
        f'{OWN}.model == "A100" && {OWN}.numa == 1 && {OWN}.shared',
        f'{OWN}.version.isLessThan(semver("2.0.0")) && {OWN}.version.major() == 1',
        f'!("absent" in {OWN}) && !has({OWN}.absent) && !has(device.attributes["unknown.com"].x)',
        f'{OWN}.?absent.orValue(5) == 5 && size(device.attributes["unknown.com"]) == 0',
        f'device.capacity["{DRIVER}"].memory.compareTo(quantity("16Gi")) == 0',
        f'cel.bind(own, {OWN}, own.numa > 0 && own.model.startsWith("A"))',
        f"{OWN}.exists(name, name == 'model') && device.attributes.exists(domain, domain == 'other.com') == false",
    ],
)
def test_an_expression_reads_a_device(expression: str) -> None:
    """Names without a domain have that of the driver, and an unknown domain is an empty map."""
    assert result(expression, model="A100", numa=1, shared=True, version="1.4.0") is True


def test_attributes_can_have_another_domain() -> None:
    """They are found under it alone."""
    found = result(f'device.attributes["other.com"].link == "x" && !has({OWN}.link)', **{"other.com/link": "x"})

    assert found is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (f"{OWN}.absent == 1", "no such key: absent"),
        ('device.attributes["unknown.com"].x == 1', "no such key: x"),
        ("device.nothing", "no such key: nothing"),
        ("1 + 1", "the result is no bool"),
    ],
)
def test_an_expression_without_result_is_an_error(expression: str, message: str) -> None:
    """The error stands for the device."""
    found = result(expression, model="A100")

    assert isinstance(found, CelError)
    assert str(found) == message


def test_devices_that_are_equal_in_what_is_read_are_evaluated_once() -> None:
    """Other attributes do not matter, such as a UUID."""
    selector = DeviceExpression(f'{OWN}.model == "A100" && {OWN}.numa == 0')
    first, steps = selector.result(offer(model="A100", numa=0, uuid="a"))
    again, fewer = selector.result(offer(model="A100", numa=0, uuid="b"))

    assert (first, again) == (True, True)
    assert fewer == 1 < steps


def test_what_is_read_depends_on_other_values() -> None:
    """The second attribute counts for devices of the first kind alone."""
    selector = DeviceExpression(f'{OWN}.model == "A100" && {OWN}.numa == 0')
    devices = [("T4", 0), ("T4", 1), ("A100", 1), ("A100", 0), ("T4", 2), ("A100", 1)]

    assert [selector.result(offer(model=model, numa=numa))[0] for model, numa in devices] == [
        False,
        False,
        False,
        True,
        False,
        False,
    ]


def test_values_of_different_types_are_told_apart() -> None:
    """An integer 1 is no boolean."""
    selector = DeviceExpression(f"{OWN}.x == 1")

    assert selector.result(offer(x=1))[0] is True
    assert selector.result(offer(x=True))[0] is False


def test_results_that_differ_for_each_device_are_not_kept_without_limit() -> None:
    """Each device has its own value of what is read; the results stay right."""
    selector = DeviceExpression(f"{OWN}.x == 1500")
    found = [selector.result(offer(x=number))[0] for number in range(3000)]

    assert found.count(True) == 1
    assert found[1500] is True
    assert len(selector._known) <= 1024
