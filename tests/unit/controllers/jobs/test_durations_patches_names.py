"""Small pieces: durations, merge patches, names of claims, defaults."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.controllers.jobs.claims import claim_name, claims_of, without_made_names
from pyroclast.controllers.jobs.defaults import filled_in
from pyroclast.controllers.jobs.durations import duration_text, seconds_of
from pyroclast.controllers.jobs.patches import difference
from pyroclast.model.api.batch import Job
from tests.unit.controllers.jobs.world import merged

trees = st.recursive(
    st.one_of(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=2), st.text("ab", max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400.0),
        ("100ms", 0.1),
        ("1.5s", 1.5),
        (".5m", 30.0),
        ("0", 0.0),
        ("", None),
        ("-1s", None),
        ("5", None),
        ("9999999999h", None),
    ],
)
def test_durations_are_read(text: str, seconds: float | None) -> None:
    """As Go reads them; what is negative, broken or beyond what Go can hold is none."""
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (59.9, "59s"), (60, "1m0s"), (3661, "1h1m1s")])
def test_durations_are_written(seconds: float, text: str) -> None:
    """As Go writes them, in whole seconds."""
    assert duration_text(seconds) == text


@given(objects, objects)
def test_a_difference_leads_from_one_to_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Merging it gives the new object; between equal ones there is none."""
    assert merged(old, difference(old, new)) == new
    assert difference(new, new) == {}


def job(uid: str = "u1", *volumes: dict[str, Any]) -> Job:
    """Make a Job with volumes."""
    return msgspec.convert({"metadata": {"name": "train", "uid": uid}, "spec": {"volumes": list(volumes)}}, Job)


def test_names_of_claims_follow_from_job_and_entry() -> None:
    """The same each time, another for each entry and each Job."""
    names = {claim_name(job("u1"), 0), claim_name(job("u1"), 1), claim_name(job("u2"), 0)}
    assert len(names) == 3
    assert claim_name(job("u1"), 0) in names
    assert all(len(name) == len("train-pvc-") + 12 for name in names)


def test_which_claims_are_made() -> None:
    """Those that are described, under their name once it is written; others must be there."""
    described = {"mountPath": "/a", "volumeClaim": {"accessModes": []}}
    made = claim_name(job(), 1)
    plans = list(
        claims_of(
            job("u1", described, {**described, "volumeClaimName": made}, {"mountPath": "/c", "volumeClaimName": "c"})
        )
    )
    assert [plan.name for plan in plans] == [claim_name(job(), 0), made, "c"]
    assert [plan.manifest is not None for plan in plans] == [True, True, False]
    assert [plan.is_named for plan in plans] == [False, True, True]


def test_what_the_user_wrote_of_a_claim() -> None:
    """Names that were made for him are taken out again, his own stay."""
    described = {"mountPath": "/a", "volumeClaim": {"accessModes": []}}
    written = without_made_names(
        job(
            "u1",
            {**described, "volumeClaimName": "train-pvc-0123456789ab"},
            {"mountPath": "/b", "volumeClaimName": "b"},
        )
    )
    assert [volume.volume_claim_name for volume in written.spec.volumes] == ["", "b"]


def test_defaults_are_filled_in_a_copy() -> None:
    """Members of objects and of items in lists; what was given stays as it was."""
    given_job = {"spec": {"tasks": [{"replicas": 1}], "plugins": {}}}
    patches: list[dict[str, Any]] = [
        {"op": "add", "path": "/spec/tasks/0/name", "value": "default0"},
        {"op": "add", "path": "/spec/plugins/a~1b", "value": []},
    ]
    assert filled_in(given_job, patches) == {
        "spec": {"tasks": [{"replicas": 1, "name": "default0"}], "plugins": {"a/b": []}}
    }
    assert given_job == {"spec": {"tasks": [{"replicas": 1}], "plugins": {}}}
