"""Values that are texts stay texts: whatever stands in them, the chart renders YAML of the same shape."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, helm

AWKWARD = (
    "/plugins",
    "a: b",
    "a#b #c",
    '"quoted"',
    "it's",
    "{x}",
    "[x]",
    "*x",
    "&x",
    "!x",
    "%s %d",
    "@x",
    "- x",
    "yes",
    "null",
    "~",
    "12",
    "1e3",
    "0x10",
    "1:30",
    "2027-01-01",
    "back\\slash",
    "{{ .Values }}",
    "tab\there",
    "größe",
    "first\nsecond: 3",
    "  indented\n  twice",
    "trailing ",
)
"""Characters that are special to YAML, to Helm, or to parsers that guess types."""
EVERYTHING_ON = {
    "custom": {"scheduler_plugins_dir": "/plugins", "scheduler_plugins_volume": {"configMap": {"name": "x"}}},
    "scheduler": {"devices": {"configMap": {"read": True}}, "nodeSelectors": ["a:b"], "featureGates": {"A": True}},
    "admission": {"pods": True, "config": "x", "certManager": {"enabled": False}},
    "metrics": {
        "secretName": "x",
        "authorization": True,
        "serviceAnnotations": {"x": "x"},
        "serviceMonitor": {"enabled": True, "labels": {"x": "x"}},
        "alerts": {"enabled": True, "labels": {"x": "x"}, "runbookUrl": "x"},
        "dashboard": {"enabled": True},
    },
    "networkPolicy": {"enabled": True, "monitoringNamespaces": ["x"]},
}


def texts_of(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each value that may be any text; `[]` stands for an item of a list, `*` for any key."""
    kind = schema.get("type")
    if kind == "string" and not ({"enum", "const", "format"} & schema.keys()):
        yield path
    for key, inner in schema.get("properties", {}).items():
        yield from texts_of(inner, (*path, key))
    if isinstance(inner := schema.get("additionalProperties"), dict):
        yield from texts_of(inner, (*path, "*"))
    if isinstance(inner := schema.get("items"), dict):
        yield from texts_of(inner, (*path, "[]"))


SCHEMA = json.loads((CHART / "values.schema.json").read_bytes())
TEXTS = sorted(texts_of(SCHEMA))


def pattern_of(path: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a text."""
    found: dict[str, Any] = SCHEMA
    for key in path:
        found = found["items" if key == "[]" else "additionalProperties"] if key in "[]*" else found["properties"][key]
    return found


def put(values: dict[str, Any], path: tuple[str, ...], text: str) -> None:
    """Set one value of a text."""
    here: Any = values
    for key, following in zip(path, (*path[1:], None), strict=True):
        inner: Any = text if following is None else [] if following == "[]" else {}
        if key == "[]":
            here[:] = here or [inner]
            here = here[0]
        elif following is None:
            here[key.replace("*", "x")] = inner
        else:
            here = here.setdefault(key.replace("*", "x"), inner)


def values_with(text: str) -> dict[str, Any]:
    """Return values in which each text that may be anything is this one, and everything is switched on."""
    values: dict[str, Any] = json.loads(json.dumps(EVERYTHING_ON))
    for path in TEXTS:
        if "pattern" not in pattern_of(path):
            put(values, path, text)
    values["scheduler"]["existingConfigMap"] = ""  # else the chart makes none
    return values


def objects_of(values: dict[str, Any], folder: Path) -> list[Any]:
    """Render the chart with values."""
    file = folder / "values.json"
    file.write_text(json.dumps(values))
    text = helm("template", "pyro", str(CHART), "--namespace", "batch", "--kube-version", "1.36.1", "-f", str(file))
    return [each for each in yaml.safe_load_all(text) if each]


def shape_of(value: Any) -> Any:
    """Return what is left of an object without its texts: keys, lengths and types."""
    if isinstance(value, dict):
        return {key: shape_of(each) for key, each in value.items()}
    return [shape_of(each) for each in value] if isinstance(value, list) else type(value)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The objects with a harmless text everywhere."""
    return objects_of(values_with("x"), tmp_path_factory.mktemp("plain"))


def test_the_texts_are_found() -> None:
    """Names, selectors, flags, addresses and whole files."""
    paths = {".".join(path) for path in TEXTS}

    assert {"custom.scheduler_plugins_dir", "scheduler.schedulerNames.[]", "scheduler.config", "image.tag"} <= paths


@pytest.mark.parametrize("text", AWKWARD)
def test_any_text_renders_to_the_same_shape(text: str, plain: list[Any], tmp_path: Path) -> None:
    """Nothing turns into a number, a mapping or a comment, and the flags hold the text."""
    objects = objects_of(values_with(text), tmp_path)

    assert shape_of(objects) == shape_of(plain)
    scheduler = next(
        each for each in objects if each["kind"] == "Deployment" and each["metadata"]["name"].endswith("-scheduler")
    )
    (container,) = scheduler["spec"]["template"]["spec"]["containers"]
    assert f"--scheduler-name={text}" in container["args"]
    assert f"--default-queue={text}" in container["args"]
    configuration = next(each for each in objects if "volcano-scheduler.conf" in each.get("data", {}))
    assert configuration["data"]["volcano-scheduler.conf"] == text


@pytest.mark.parametrize("folder", ["/plugins", "/my plugins", "/a: b", '/"x"', "/x #y", "/größe", "/{x}"])
def test_any_folder_of_plugins_renders(folder: str, tmp_path: Path) -> None:
    """With a volume, which is mounted there, and without one: then it is a folder of the image."""
    for volume in ({}, {"configMap": {"name": "mine"}}):
        custom = {"scheduler_plugins_dir": folder, "scheduler_plugins_volume": volume}
        objects = objects_of({"custom": custom}, tmp_path)
        spec = next(
            each
            for each in objects
            if each["metadata"]["name"] == "pyro-pyroclast-scheduler" and "spec" in each and "template" in each["spec"]
        )["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        mounts = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "plugins"]

        assert f"--plugins-dir={folder}" in container["args"]
        assert mounts == ([folder] if volume else [])
        assert [each for each in spec["volumes"] if each["name"] == "plugins"] == (
            [{"name": "plugins", **volume}] if volume else []
        )
