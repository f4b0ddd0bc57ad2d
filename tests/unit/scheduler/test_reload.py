"""The configuration file is watched; the last good one stays in force."""

import os
from pathlib import Path

import pytest

from pyroclast.framework.configuration import Parsed, parse
from pyroclast.scheduler.daemon.reload import ConfigFile

GOOD = "actions: allocate\ntiers: [{plugins: [{name: gang}]}]\n"
OTHER = "actions: backfill\ntiers: [{plugins: [{name: gang}]}]\n"
BAD = "actions: alocate\ntiers: [{plugins: [{name: gangg}]}]\n"


def read(text: str, generation: int) -> Parsed:
    """Parse with few names."""
    return parse(text, known_plugins=["gang"], known_actions=["allocate", "backfill"], generation=generation)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is not there yet."""
    return tmp_path / "scheduler.yaml"


@pytest.fixture
def file(path: Path) -> ConfigFile:
    """A good file, polled once."""
    path.write_text(GOOD)
    file = ConfigFile(path, read)
    assert file.poll() is not None
    return file


def actions(file: ConfigFile) -> tuple[str, ...]:
    """The actions in force."""
    assert file.current is not None
    return file.current.configuration.profiles[0].actions


def generation(file: ConfigFile) -> int:
    """The generation in force."""
    assert file.current is not None
    return file.current.configuration.generation


def test_the_first_poll_reads_the_file(path: Path) -> None:
    """Nothing is in force before; the first generation is 1."""
    path.write_text(GOOD)
    file = ConfigFile(path, read)
    assert file.current is None

    reload = file.poll()

    assert reload is not None
    assert reload.parsed is file.current
    assert not reload.recovered
    assert generation(file) == 1


def test_an_unchanged_file_is_no_news(file: ConfigFile, path: Path) -> None:
    """Also when it is written anew with the same text."""
    path.write_text(GOOD)

    assert file.poll() is None
    assert generation(file) == 1


def test_a_change_of_the_same_length_and_time_is_seen(file: ConfigFile, path: Path) -> None:
    """Times are too coarse to go by: the text counts."""
    before = path.stat()
    path.write_text(OTHER)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert file.poll() is not None
    assert actions(file) == ("backfill",)
    assert generation(file) == 2


def test_a_mounted_config_map_is_swapped(tmp_path: Path) -> None:
    """The kubelet writes a new folder and swaps the link to it."""
    for name, text in (("..1", GOOD), ("..2", OTHER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scheduler.yaml").write_text(text)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "scheduler.yaml").symlink_to("..data/scheduler.yaml")
    file = ConfigFile(tmp_path / "scheduler.yaml", read)
    file.poll()
    assert actions(file) == ("allocate",)

    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").replace(tmp_path / "..data")

    assert file.poll() is not None
    assert actions(file) == ("backfill",)


def test_a_bad_edit_keeps_the_last_good_one_and_is_reported_once(file: ConfigFile, path: Path) -> None:
    """All its faults and warnings; the generation stays."""
    path.write_text(BAD)

    reload = file.poll()

    assert reload is not None
    assert reload.parsed is None
    assert reload.faults == file.faults == ("actions[0]: unknown action 'alocate' (did you mean 'allocate'?)",)
    assert reload.warnings[0].startswith("tiers[0].plugins[0].name: unknown plugin 'gangg'")
    assert file.poll() is None
    assert (actions(file), generation(file)) == (("allocate",), 1)


def test_another_bad_edit_is_reported_again(file: ConfigFile, path: Path) -> None:
    """Each state of the file once."""
    path.write_text(BAD)
    file.poll()
    path.write_text("actions: [")

    reload = file.poll()

    assert reload is not None
    assert reload.faults[0].startswith("line 1, column")


def test_going_back_to_the_last_good_text_is_a_recovery(file: ConfigFile, path: Path) -> None:
    """It is the same configuration, so its generation stays."""
    path.write_text(BAD)
    file.poll()
    path.write_text(GOOD)

    reload = file.poll()

    assert reload is not None
    assert reload.recovered
    assert reload.parsed is file.current
    assert file.faults == ()
    assert generation(file) == 1


def test_a_repaired_text_is_a_recovery(file: ConfigFile, path: Path) -> None:
    """With the next generation."""
    path.write_text(BAD)
    file.poll()
    path.write_text(OTHER)

    reload = file.poll()

    assert reload is not None
    assert reload.recovered
    assert generation(file) == 2


def test_a_file_that_vanishes_keeps_the_last_good_one(file: ConfigFile, path: Path) -> None:
    """Reported once; its return is a recovery."""
    path.unlink()

    reload = file.poll()
    assert reload is not None
    assert reload.faults == (f"{path}: cannot be read: No such file or directory",)
    assert file.poll() is None
    path.write_text(GOOD)
    back = file.poll()

    assert back is not None
    assert back.recovered
    assert actions(file) == ("allocate",)


def test_a_file_that_never_was_there_comes_later(path: Path) -> None:
    """Until then nothing is in force."""
    file = ConfigFile(path, read)

    reload = file.poll()
    assert reload is not None
    assert reload.parsed is None
    assert file.current is None
    path.write_text(GOOD)
    file.poll()

    assert (actions(file), generation(file)) == (("allocate",), 1)


def test_what_a_text_is_read_with_is_a_part_of_it(path: Path) -> None:
    """Where that changes the text is read anew; where it is again as it was in force, so is the configuration."""
    path.write_text(GOOD)
    beside = "one"
    file = ConfigFile(path, read, beside=lambda: beside)
    file.poll()
    assert file.poll() is None

    beside = "two"
    assert file.poll() is not None
    assert generation(file) == 2

    path.write_text(BAD)
    file.poll()
    path.write_text(GOOD)
    back = file.poll()
    assert back is not None
    assert back.recovered
    assert generation(file) == 2


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"#" * (2**20 + 1), "larger than 1048576 bytes"),
        (b"", "the configuration: empty"),
        (b"\x00", "not YAML"),
    ],
)
def test_a_file_that_is_no_text_keeps_the_last_good_one(
    file: ConfigFile, path: Path, content: bytes, fault: str
) -> None:
    """Whatever its bytes."""
    path.write_bytes(content)

    reload = file.poll()

    assert reload is not None
    assert fault in reload.faults[0]
    assert actions(file) == ("allocate",)


def test_a_folder_in_its_place_is_a_fault(file: ConfigFile, path: Path) -> None:
    """A volume mounted at the wrong place."""
    path.unlink()
    path.mkdir()

    reload = file.poll()

    assert reload is not None
    assert reload.faults == (f"{path}: cannot be read: Is a directory",)


def test_a_link_that_leads_in_circles_is_a_fault(file: ConfigFile, path: Path) -> None:
    """Nor does it hang."""
    path.unlink()
    path.symlink_to(path.name)

    reload = file.poll()

    assert reload is not None
    assert "cannot be read" in reload.faults[0]


def test_warnings_of_a_good_file_are_passed_on(path: Path) -> None:
    """Once, with the change."""
    path.write_text(GOOD + "metric: {}\n")

    reload = ConfigFile(path, read).poll()

    assert reload is not None
    assert reload.warnings == ("metric: unknown key, it has no effect (did you mean 'metrics'?)",)
