"""Reading objects from files."""

import io
from pathlib import Path

import pytest

from pyroclast.scheduler.simulation.object_reader import ReadError, read_objects

NODE = "kind: Node\nmetadata: {name: n1}\n"


def test_many_documents_in_a_file(tmp_path: Path) -> None:
    """Empty ones are nothing."""
    file = tmp_path / "objects.yaml"
    file.write_text(f"---\n{NODE}---\n---\nkind: Pod\n")

    assert [each["kind"] for each in read_objects([str(file)])] == ["Node", "Pod"]


def test_json_and_json_by_lines(tmp_path: Path) -> None:
    """One document, or one a line."""
    one, lines = tmp_path / "one.json", tmp_path / "lines.json"
    one.write_text('{"kind": "Node"}')
    lines.write_text('{"kind": "Node"}\n{"kind": "Pod"}\n')

    assert [each["kind"] for each in read_objects([str(one), str(lines)])] == ["Node", "Node", "Pod"]


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    """With folders inside it; other files are left alone."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.yml").write_text("kind: Pod\n")
    (tmp_path / "a.yaml").write_text(NODE)
    (tmp_path / "notes.txt").write_text("not: [read")

    assert [each["kind"] for each in read_objects([str(tmp_path)])] == ["Node", "Pod"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-`."""
    monkeypatch.setattr("sys.stdin", io.StringIO(NODE))

    assert read_objects(["-"])[0]["metadata"]["name"] == "n1"


def test_scalars_are_what_kubernetes_sees(tmp_path: Path) -> None:
    """Times stay texts, ports with a colon too; numbers are numbers."""
    file = tmp_path / "x.yaml"
    file.write_text("a: 2026-01-01T00:00:00Z\nb: 10:30\nc: 4\nd: 0.5\ne: 1e3\nf: on\ng: 0777\n")

    (each,) = read_objects([str(file)])
    assert (each["a"], each["b"], each["c"], each["d"], each["e"]) == ("2026-01-01T00:00:00Z", "10:30", 4, 0.5, 1000.0)
    assert each["f"] is True


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("missing.yaml", None, "No such file"),
        ("x.yaml", "a: [", "neither YAML nor JSON"),
        ("x.yaml", "just a text", "expected an object, got str"),
        ("x.json", "[1]", "expected an object, got int"),
    ],
)
def test_faults_name_the_file(tmp_path: Path, name: str, text: str | None, fault: str) -> None:
    """And what is wrong with it."""
    file = tmp_path / name
    if text is not None:
        file.write_text(text)

    with pytest.raises(ReadError, match=fault) as error:
        read_objects([str(file)])
    assert str(file) in str(error.value)


def test_two_objects_without_a_separator_are_reported(tmp_path: Path) -> None:
    """They would become one object, a mixture of both."""
    file = tmp_path / "glued.yaml"
    file.write_text(NODE + "kind: Pod\n")

    with pytest.raises(ReadError, match=r"glued\.yaml: .*the key 'kind' is repeated; is a '---' missing\?.*line 3"):
        read_objects([str(file)])


def test_keys_may_overrule_merged_ones(tmp_path: Path) -> None:
    """As YAML has it, also in what is merged again."""
    file = tmp_path / "merged.yaml"
    file.write_text("a: &a {x: 1, y: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b, y: 3}\n")

    (each,) = read_objects([str(file)])
    assert each["b"] == {"x": 2, "y": 1}
    assert each["c"]["y"] == 3


def test_a_folder_without_objects_is_a_fault(tmp_path: Path) -> None:
    """Nothing was meant by it."""
    with pytest.raises(ReadError, match="no file"):
        read_objects([str(tmp_path)])


def test_an_alias_inside_what_it_names_is_refused(tmp_path: Path) -> None:
    """No object of a cluster holds itself."""
    file = tmp_path / "file.yaml"
    file.write_text("kind: &a [*a]")

    with pytest.raises(ReadError, match="an alias is part of the value that it names"):
        read_objects([str(file)])
