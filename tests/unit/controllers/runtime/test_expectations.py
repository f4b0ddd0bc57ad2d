"""Expectations hold a decision back until the stores show our own writes, and never for ever."""

from typing import Any

import pytest

from pyroclast.controllers.runtime.expectations import Expectations
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.model.wire import ObjectMeta, Pod
from tests.unit.controllers.moving import MovedClock

JOB: Key = ("default", "job")


class World:
    """A store with the version it stands at, and what is expected of it."""

    def __init__(self) -> None:
        self.version = "10"
        self.clock = MovedClock()
        self.store: Store[Pod] = Store(plural="pods", version=lambda: self.version)
        self.expectations = Expectations(clock=self.clock, patience_seconds=60)

    def is_ready(self) -> bool:
        """Return whether the job may be decided about."""
        return self.expectations.wait(JOB) is None


@pytest.fixture
def world() -> World:
    """Nothing is there and nothing expected."""
    return World()


def answer(version: str, uid: str = "u1") -> dict[str, Any]:
    """What the server says after it wrote a pod."""
    return {"kind": "Pod", "metadata": {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": version}}


def pod(version: str, uid: str = "u1", *, is_going: bool = False) -> Pod:
    """The same pod as a watch tells it."""
    going = "2026-01-01T00:00:00Z" if is_going else ""
    return Pod(
        metadata=ObjectMeta(name="a", namespace="default", uid=uid, resource_version=version, deletion_timestamp=going)
    )


def test_nothing_written_is_nothing_to_wait_for(world: World) -> None:
    """A fresh process decides at once."""
    assert world.is_ready()


def test_a_creation_is_waited_for_until_the_store_has_it(world: World) -> None:
    """The object itself is the sign."""
    world.expectations.wrote(JOB, world.store, answer("11"))
    assert not world.is_ready()
    world.store.added(pod("11"))

    assert world.is_ready()


def test_a_store_that_was_faster_than_the_answer_is_not_waited_for(world: World) -> None:
    """The watch may tell before the request returns."""
    world.store.added(pod("11"))
    world.expectations.wrote(JOB, world.store, answer("11"))

    assert world.is_ready()


def test_what_came_and_went_is_not_waited_for(world: World) -> None:
    """A store beyond the version of the write has seen it, though it shows nothing any more."""
    world.expectations.wrote(JOB, world.store, answer("11"))
    world.version = "12"

    assert world.is_ready()


def test_a_change_is_waited_for_though_the_object_is_there(world: World) -> None:
    """The version is what tells old from new."""
    world.store.added(pod("9"))
    world.expectations.wrote(JOB, world.store, answer("11"))
    assert not world.is_ready()
    world.store.updated(pod("9"), pod("12"))

    assert world.is_ready()


def test_versions_are_compared_as_numbers(world: World) -> None:
    """9 comes before 10, though not among texts."""
    world.store.added(pod("9"))
    world.expectations.wrote(JOB, world.store, answer("100"))

    assert not world.is_ready()


def test_a_deletion_is_waited_for_until_the_object_is_marked(world: World) -> None:
    """A terminating object counts as gone; waiting for its end needs another lookup."""
    world.store.added(pod("9"))
    world.expectations.deleted(JOB, world.store, pod("9"))
    assert not world.is_ready()
    world.store.updated(pod("9"), pod("11", is_going=True))

    assert world.is_ready()


def test_another_object_of_the_name_ends_the_wait_for_a_deletion(world: World) -> None:
    """The one that was deleted is gone."""
    world.store.added(pod("9"))
    world.expectations.deleted(JOB, world.store, pod("9"))
    world.store.updated(pod("9"), pod("12", uid="u2"))

    assert world.is_ready()


def test_every_write_must_show(world: World) -> None:
    """One of two is not enough."""
    services: Store[Pod] = Store(plural="services", version=lambda: "10")
    world.expectations.wrote(JOB, world.store, answer("11"))
    world.expectations.wrote(JOB, services, answer("11"))
    world.store.added(pod("11"))
    assert not world.is_ready()
    services.added(pod("11"))

    assert world.is_ready()


def test_keys_do_not_wait_for_each_other(world: World) -> None:
    """What one job wrote is no concern of another."""
    world.expectations.wrote(("default", "other"), world.store, answer("11"))

    assert world.is_ready()


def test_a_write_that_never_shows_is_given_up(world: World) -> None:
    """A key is never held back for good."""
    world.expectations.wrote(JOB, world.store, answer("11"))
    world.clock.now += 59
    assert not world.is_ready()
    world.clock.now += 2

    assert world.is_ready()


def test_what_is_forgotten_is_not_waited_for(world: World) -> None:
    """A job that is gone leaves nothing behind."""
    world.expectations.wrote(JOB, world.store, answer("11"))
    world.expectations.forget(JOB)

    assert world.is_ready()


def test_versions_that_are_no_numbers_are_waited_for_by_equality(world: World) -> None:
    """A server may name versions as it likes."""
    world.version = "xyz"
    world.expectations.wrote(JOB, world.store, answer("abc"))
    assert not world.is_ready()
    world.store.added(pod("abc"))

    assert world.is_ready()
