"""What extenders answered is part of a record, and a replay decides by it alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from pyroclast.cache.files.objects import decoded
from pyroclast.framework.cycle import Silent, run_cycle
from pyroclast.framework.extension.outside import Answer, CycleCut, Question
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.scheduler.cli.commands.replay import main
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.daemon.cluster import state_options
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.extenders.recorded_replies import RecordingBudget
from pyroclast.scheduler.recording import recorder as recording
from pyroclast.scheduler.recording.recorder import RecordedState, Recorder
from pyroclast.scheduler.recording.replay import Replayed, replay
from pyroclast.scheduler.registry import load_registry
from tests.unit.plugins.extending import AWAY, URL, Service
from tests.unit.scheduler.test_replay import objects

TEXT = f"""\
actions: enqueue, allocate
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: extender
    arguments:
      extender.urlPrefix: {URL}
      extender.predicateVerb: predicate
      extender.prioritizeVerb: prioritize
"""
NOW = 1_800_000_000.0


class Settings:
    """The text in force."""

    text = TEXT
    plugin_sources: Mapping[str, str] = MappingProxyType({})


def recorded(file: Path, service: Any, *, seconds: int = 3, text: str = TEXT) -> list[int]:
    """Record cycles of a small cluster in which nothing is bound; return how many pods each would bind."""
    options = parse_options([f"--record={file}"], {}).options
    registry, settled = load_registry(""), Settled()
    configuration = read_configuration(text, registry).configuration
    recorder = Recorder(file, options)
    state = RecordedState(recorder, state_options(options))
    for kind, each in decoded(objects()):
        state.apply(kind, each)

    def decide(*arguments: Any, **named: Any) -> Any:
        return run_cycle(*arguments, registry=registry, settled=settled, **named)

    watched = recorder.watching(decide, Settings())
    memory, binds = Memory(), []
    for second in range(seconds):
        try:
            report, memory = watched(
                state.snapshot(),
                configuration,
                now=NOW + second,
                memory=memory,
                observer=Silent(),
                outside={"extender": service, "gang": service},
            )
        except CycleCut:
            binds.append(-1)
        else:
            binds.append(sum(len(plan.binds) for plan in report.plans))
    recorder.close()
    return binds


def replayed(file: Path) -> list[Replayed]:
    """Decide again, without extenders."""
    with file.open("rb") as lines:
        return list(replay(lines))


def by_turns(*replies: Any) -> Callable[[Any], Any]:
    """Answer each question in turn, the last for ever."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def test_a_changed_reply_takes_effect_and_is_replayed(tmp_path: Path) -> None:
    """First the extender refuses both nodes, then it is away, then it permits them; nothing else ever changed."""
    no = {"status": "drained", "code": 2}
    service = Service(predicate=by_turns(no, no, no, no, AWAY, AWAY, AWAY, AWAY, {}), prioritize={"nodeScore": {}})

    binds = recorded(tmp_path / "record", service, seconds=4)
    cycles = replayed(tmp_path / "record")

    assert binds[0] == 0
    assert binds[-1] == 2
    assert [cycle.is_same for cycle in cycles] == [True] * 4
    assert not any(cycle.was_quiet for cycle in cycles)


def test_a_record_holds_what_was_answered(tmp_path: Path) -> None:
    """Answers by plugin, in order; plugins without requests are not in it."""
    service = Service(predicate={}, prioritize={"nodeScore": {"n2": 1.5}})
    recorded(tmp_path / "record", service, seconds=1)

    entries = [msgspec.json.decode(line) for line in (tmp_path / "record").read_bytes().splitlines()]
    (cycle,) = [each for each in entries if each["do"] == "cycle"]
    assert list(cycle["outside"]) == ["extender"]
    assert [each["url"].removeprefix(f"{URL}/") for each in cycle["outside"]["extender"]] == service.verbs()
    assert {"nodeScore": {"n2": 1.5}} in [each["value"] for each in cycle["outside"]["extender"]]


@pytest.mark.parametrize("place", [0, -1])
def test_another_question_than_the_recorded_one_is_found_out(tmp_path: Path, place: int) -> None:
    """Though it is decided in the same way."""
    recorded(tmp_path / "record", Service(predicate={}, prioritize={"nodeScore": {}}), seconds=1)
    lines = (tmp_path / "record").read_bytes().splitlines()
    entry = msgspec.json.decode(lines[-1])
    entry["outside"]["extender"][place]["digest"] = "0" * 16
    (tmp_path / "record").write_bytes(b"\n".join([*lines[:-1], msgspec.json.encode(entry)]))

    (cycle,) = replayed(tmp_path / "record")
    assert cycle.decided == cycle.recorded
    assert not cycle.is_same


def test_unused_answers_are_found(tmp_path: Path) -> None:
    """One more than there were questions."""
    recorded(tmp_path / "record", Service(predicate={}, prioritize={"nodeScore": {}}), seconds=1)
    lines = (tmp_path / "record").read_bytes().splitlines()
    entry = msgspec.json.decode(lines[-1])
    entry["outside"]["extender"].append(entry["outside"]["extender"][0])
    (tmp_path / "record").write_bytes(b"\n".join([*lines[:-1], msgspec.json.encode(entry)]))

    (cycle,) = replayed(tmp_path / "record")
    assert not cycle.is_same


def test_the_command_reports_a_difference_in_requests_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no difference in the reports to point at."""
    recorded(tmp_path / "record", Service(predicate={}, prioritize={"nodeScore": {}}), seconds=1)
    lines = (tmp_path / "record").read_bytes().splitlines()
    entry = msgspec.json.decode(lines[-1])
    entry["outside"]["extender"][0]["digest"] = "0" * 16
    (tmp_path / "record").write_bytes(b"\n".join([*lines[:-1], msgspec.json.encode(entry)]))

    assert main([str(tmp_path / "record")]) == 1
    assert "cycle 1 has the same report, but other requests" in capsys.readouterr().out


def test_a_cycle_that_was_cut_is_cut_again(tmp_path: Path) -> None:
    """The record says that it came to nothing, and so does the replay."""

    def second_time(body: Any) -> Any:
        if body["node"]["Name"] == "n2":
            raise CycleCut
        return {}

    assert recorded(tmp_path / "record", Service(predicate=second_time, prioritize={}), seconds=1) == [-1]
    (cycle,) = replayed(tmp_path / "record")
    assert (cycle.recorded, cycle.decided, cycle.is_same) == (b"null", b"null", True)


def test_a_failure_is_recorded_with_its_words(tmp_path: Path) -> None:
    """They are in the reasons of pods."""

    class Broken:
        def ask(self, _: Question) -> Answer:
            return Answer(error=", code 503")

    assert recorded(tmp_path / "record", Broken(), seconds=2) == [0, 0]
    cycles = replayed(tmp_path / "record")
    assert all(cycle.is_same for cycle in cycles)
    assert b"code 503" in cycles[0].decided


def test_answers_beyond_the_budget_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cycle goes on with them; in the record it is one that was cut short, and its replay agrees."""
    monkeypatch.setattr(recording, "MOST_BYTES", 500)
    large = Answer(value={"status": "", "code": 0}, size=200)
    file = tmp_path / "record"

    recorded(file, Service(predicate=lambda _: large, prioritize={"nodeScore": {}}), seconds=1)

    with file.open("rb") as lines:
        (cycle,) = replay(lines)
    assert cycle.decided == cycle.recorded == b"null"


def test_a_budget_is_spent_by_the_first_answer_that_is_too_large() -> None:
    """Answers after it would stand in the place of others."""
    budget = RecordingBudget(100)

    assert [budget.take(size) for size in (60, 50, 1)] == [True, False, False]
    assert budget.is_spent
