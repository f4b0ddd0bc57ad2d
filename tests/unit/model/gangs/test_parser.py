"""What gangs say: defaults, what counts before what, and everything that cannot be read."""

import json
from collections.abc import Mapping

import pytest

from pyroclast.model import wire
from pyroclast.model.gangs import Gang, GangRules
from pyroclast.model.gangs.gathering import GATHER_SPEC
from pyroclast.model.gangs.identity import gang_of, group_id, job_of_group
from pyroclast.model.gangs.names import (
    ALIAS_MATCH_POLICY,
    GROUPS,
    LABEL_MIN_AVAILABLE,
    LABEL_NAME,
    LABEL_POD_GROUP,
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    NAME,
    TOPOLOGY_INDEX,
    TOTAL_NUMBER,
    WAITING_TIME,
)
from pyroclast.model.gangs.parser import read_gang, read_index

RULES = GangRules(match_policy="waiting-and-running", waiting_seconds=77.0)


def pod(annotations: Mapping[str, str], labels: Mapping[str, str] | None = None, *, name: str = "p") -> wire.ObjectMeta:
    """Metadata of a pod."""
    return wire.ObjectMeta(
        name=name,
        namespace="ml",
        annotations=annotations,
        labels=labels or {},
        creation_timestamp="2026-01-02T00:00:00Z",
    )


def by_pods(*pods: wire.ObjectMeta) -> Gang:
    """Read the gang ml/a from pods."""
    return read_gang("ml/a", None, pods, RULES)


def by_pod_group(annotations: Mapping[str, str] | None = None, *, minimum: int = 3, seconds: int | None = None) -> Gang:
    """Read the gang ml/a from a pod group, whose pods say something else."""
    group = wire.GangPodGroup(
        metadata=wire.ObjectMeta(
            name="a", namespace="ml", annotations=annotations or {}, creation_timestamp="2026-01-01T00:00:00Z"
        ),
        spec=wire.GangPodGroupSpec(min_member=minimum, schedule_timeout_seconds=seconds),
    )
    return read_gang("ml/a", group, [pod({MIN_AVAILABLE: "9", MODE: "NonStrict"})], RULES)


def multiple(count: int) -> str:
    """Return the text of a gathering of which each node has a multiple of so many pods."""
    return json.dumps({"gatherStrategy": [{"layer": "NodeTopologyLayer", "podCountMultiple": count}]})


def notes(gang: Gang) -> list[str]:
    """What could not be read."""
    return [str(note) for note in gang.notes]


@pytest.mark.parametrize(
    ("labels", "annotations", "gang"),
    [
        ({LABEL_POD_GROUP: "x", LABEL_NAME: "y"}, {NAME: "z"}, "ml/x"),
        ({LABEL_POD_GROUP: "", LABEL_NAME: "y"}, {NAME: "z"}, "ml/y"),
        ({}, {NAME: "z"}, "ml/z"),
        ({}, {NAME: ""}, ""),
        ({}, {MIN_AVAILABLE: "3"}, ""),
    ],
)
def test_first_name_counts(labels: dict[str, str], annotations: dict[str, str], gang: str) -> None:
    """Label of a pod group, deprecated label, annotation; a pod without any is in no gang."""
    assert gang_of(pod(annotations, labels)) == gang


@pytest.mark.parametrize(
    ("gangs", "others"),
    [
        (("ml/a,ml/b",), ("ml/a", "ml/b")),
        (("ml/a", "ml/b,ml/c"), ("ml/a", "ml/b", "ml/c")),
        (("ml/a", "ml/b,ml/c"), ("ml/a,ml/b", "ml/c")),
        (("", "ml/a"), (",ml/a",)),
        (("ml/a/b",), ("ml/a", "b")),
    ],
)
def test_no_two_groups_are_one_job(gangs: tuple[str, ...], others: tuple[str, ...]) -> None:
    """Names in annotations may have any characters, those that stand between names, too."""
    assert job_of_group(gangs) != job_of_group(others)


def test_no_gang_is_called_what_free_members_of_another_are() -> None:
    """Their job's name ends like the gang's."""
    assert job_of_group(("ml/a:free",)) != job_of_group(("ml/a",), is_free=True)


def test_jobs_of_gangs_have_names_that_no_pod_group_can_have() -> None:
    """No name has a colon; long lists have a hash of all of them."""
    assert job_of_group(("ml/a",)) == "ml/gang:a"
    assert job_of_group(("ml/a", "other/b")) == "ml/gang:a,other/b"
    assert job_of_group(("ml/a",), is_free=True) == "ml/gang:a:free"
    many = tuple(f"ml/{number:04}" for number in range(100))
    assert len(job_of_group(many)) < 250
    assert job_of_group(many) != job_of_group((*many[:-1], "ml/9999"))
    far = "m" * 300
    assert len(job_of_group((f"{far}/a", "ml/b"))) < 300
    assert job_of_group((f"{far}/a",)) != job_of_group((f"{far}m/a",))
    assert group_id(("ml/a", "other/b")) == "ml/a,other/b"


def test_pods_describe_a_gang() -> None:
    """What all annotations mean, and what holds where they are absent."""
    assert by_pods(pod({MIN_AVAILABLE: "3"})) == Gang(
        id="ml/a",
        group=("ml/a",),
        minimum=3,
        total=3,
        mode="Strict",
        match_policy="waiting-and-running",
        waiting_seconds=77.0,
        created="2026-01-02T00:00:00Z",
    )
    everything = {
        MIN_AVAILABLE: "2",
        TOTAL_NUMBER: "5",
        MODE: "NonStrict",
        WAITING_TIME: "1m30s",
        GROUPS: '["other/b", "ml/a"]',
        MATCH_POLICY: "only-waiting",
        ALIAS_MATCH_POLICY: "once-satisfied",
    }
    assert by_pods(pod(everything)) == Gang(
        id="ml/a",
        group=("ml/a", "other/b"),
        minimum=2,
        total=5,
        mode="NonStrict",
        match_policy="only-waiting",
        waiting_seconds=90.0,
        created="2026-01-02T00:00:00Z",
    )


def test_deprecated_label_goes_before_the_annotation_and_the_alias_behind_it() -> None:
    """The minimum by label wins, also where it cannot be read; the alias of the policy is read where the key is not."""
    labels = {LABEL_MIN_AVAILABLE: "4"}
    assert by_pods(pod({MIN_AVAILABLE: "3", ALIAS_MATCH_POLICY: "only-waiting"}, labels)).minimum == 4
    assert by_pods(pod({MIN_AVAILABLE: "3", ALIAS_MATCH_POLICY: "only-waiting"}, labels)).match_policy == "only-waiting"
    assert "metadata.labels" in by_pods(pod({MIN_AVAILABLE: "3"}, {LABEL_MIN_AVAILABLE: "x"})).fault


def test_first_pod_with_a_minimum_describes_the_gang() -> None:
    """Row 19 of Koordinator's scenarios: a minimum that is none leaves the gang to the next pod."""
    first, second = pod({MIN_AVAILABLE: "x"}, name="one"), pod({MIN_AVAILABLE: "3", MODE: "NonStrict"}, name="two")
    third = pod({MIN_AVAILABLE: "5"}, name="three")

    assert by_pods(first).fault == (
        f"Pod ml/one: metadata.annotations[{MIN_AVAILABLE}]: 'x' is not a whole number from 0 to 2147483647; "
        "it counts as absent"
    )
    found = by_pods(first, second, third)
    assert (found.minimum, found.mode, found.fault) == (3, "NonStrict", "")


def test_gangs_without_a_minimum_say_why() -> None:
    """No pod gives one; the pod group that pods name is not there (row 17)."""
    assert by_pods(pod({})).fault == f"none of its pods has the annotation {MIN_AVAILABLE}"
    waiting = by_pods(pod({MIN_AVAILABLE: "3"}, {LABEL_POD_GROUP: "a"}))
    assert waiting.fault == "there is no PodGroup ml/a of scheduling.sigs.k8s.io"
    assert waiting.group == ("ml/a",)


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "2147483648", " 3", "9" * 200])
def test_minimum_that_is_none(text: str) -> None:
    """The gang cannot be used, and the pod is named."""
    gang = by_pods(pod({MIN_AVAILABLE: text}))
    assert gang.fault.startswith(f"Pod ml/p: metadata.annotations[{MIN_AVAILABLE}]: ")
    assert len(gang.fault) < 250
    assert len(gang.notes) == 1


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (MODE, "foo", "'foo' is none of Strict, NonStrict"),
        (MATCH_POLICY, "most", "'most' is none of once-satisfied, only-waiting, waiting-and-running"),
        (WAITING_TIME, "soon", "'soon' is not a duration such as 1h30m or 100ms"),
        (WAITING_TIME, "0s", "'0s' is not above 0"),
        (WAITING_TIME, "-5s", "'-5s' is not above 0"),
        (TOTAL_NUMBER, "many", "'many' is not a whole number from 0 to 2147483647"),
        (GROUPS, "ml/a", "'ml/a' is not a JSON list of namespace/name: JSON is malformed"),
        (GROUPS, "[1]", "'[1]' is not a JSON list of namespace/name: Expected `str`, got `int`"),
        (GROUPS, "[" * 5000, "is not a JSON list of namespace/name"),
        (GATHER_SPEC, multiple(-1), "the podCountMultiple is not a whole number from 0 to 2147483647"),
        (GATHER_SPEC, multiple(2**31), "the podCountMultiple is not a whole number from 0 to 2147483647"),
        (GATHER_SPEC, multiple(10**30), "the podCountMultiple is not a whole number from 0 to 2147483647"),
    ],
)
def test_what_cannot_be_read_counts_as_absent(key: str, text: str, message: str) -> None:
    """It is noted with its object and its key; the gang is as without it (row 20: an unknown mode is Strict)."""
    for gang in (by_pods(pod({MIN_AVAILABLE: "3", key: text})), by_pod_group({key: text})):
        plain = (gang.minimum, gang.mode, gang.match_policy, gang.waiting_seconds, gang.total, gang.group)
        assert plain == (3, "Strict", "waiting-and-running", 77.0, 3, ("ml/a",))
        assert gang.gathering is None
        assert not gang.fault
        if key == WAITING_TIME and gang.created == "2026-01-01T00:00:00Z":
            assert notes(gang) == []  # pod groups have a field for it
        else:
            (note,) = notes(gang)
            assert f"metadata.annotations[{key}]: " in note
            assert message in note


def test_empty_annotations_say_nothing() -> None:
    """No note, and the defaults."""
    empty = dict.fromkeys((MODE, MATCH_POLICY, WAITING_TIME, TOTAL_NUMBER, GROUPS), "")
    assert by_pods(pod({MIN_AVAILABLE: "3", **empty})) == by_pods(pod({MIN_AVAILABLE: "3"}))
    assert by_pods(pod({MIN_AVAILABLE: "3", GROUPS: "[]"})).group == ("ml/a",)


def test_a_total_below_the_minimum_is_the_minimum() -> None:
    """It decides nothing anyway."""
    assert by_pods(pod({MIN_AVAILABLE: "3", TOTAL_NUMBER: "2"})).total == 3
    assert by_pods(pod({MIN_AVAILABLE: "3", TOTAL_NUMBER: "0"})).total == 3


def test_a_list_that_lacks_the_gang_itself_is_taken_with_it() -> None:
    """And that is noted."""
    gang = by_pods(pod({MIN_AVAILABLE: "3", GROUPS: '["ml/b", "ml/b"]'}))
    assert gang.group == ("ml/a", "ml/b")
    assert "the list lacks ml/a itself" in notes(gang)[0]


def test_pod_groups_alone_count_where_there_is_one() -> None:
    """Minimum and time from its fields, all else from its annotations; what pods say is passed over."""
    gang = by_pod_group({GROUPS: '["ml/a","ml/b"]', MODE: "NonStrict", TOTAL_NUMBER: "6"}, minimum=4, seconds=120)
    assert gang == Gang(
        id="ml/a",
        group=("ml/a", "ml/b"),
        minimum=4,
        total=6,
        mode="NonStrict",
        match_policy="waiting-and-running",
        waiting_seconds=120.0,
        created="2026-01-01T00:00:00Z",
    )
    assert by_pod_group(seconds=0).waiting_seconds == 77.0


def test_minimums_that_no_gang_can_have_are_not_counted() -> None:
    """However large they are: sums of them are numbers that can be kept."""
    gang = by_pod_group(minimum=2**63 - 1)
    assert gang.fault == f"PodGroup ml/a: spec.minMember: {2**63 - 1} is not a whole number from 0 to 2147483647"
    assert gang.minimum == 0


def test_pod_groups_with_negative_numbers() -> None:
    """A minimum makes the gang unusable; a time counts as absent."""
    gang = by_pod_group(minimum=-1)
    assert gang.fault == "PodGroup ml/a: spec.minMember: -1 is not a whole number from 0 to 2147483647"
    assert gang.minimum == 0
    late = by_pod_group(seconds=-5)
    assert (late.waiting_seconds, late.fault) == (77.0, "")
    assert notes(late) == ["PodGroup ml/a: spec.scheduleTimeoutSeconds: -5 is negative; it counts as absent"]


@pytest.mark.parametrize(("text", "index"), [("0", 0), ("12", 12), ("x", None), ("-1", None), ("", None)])
def test_ranks_inside_a_gang(text: str, index: int | None) -> None:
    """A whole number; anything else is none."""
    assert read_index(pod({TOPOLOGY_INDEX: text})) == index
    assert read_index(pod({})) is None
