import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.controllers.hypernodes.settings import read_settings

SOUND = """
networkTopologyDiscovery:
  - source: label
    enabled: true
    interval: 10m
    config:
      networkTopologyTypes:
        rows:
          - nodeLabel: example.com/row
          - nodeLabel: example.com/rack
          - nodeLabel: kubernetes.io/hostname
        flat:
          - nodeLabel: kubernetes.io/hostname
"""


def test_labels_by_type() -> None:
    """The narrowest domain first; the last label is the node's own and makes none."""
    settings = read_settings(SOUND)

    assert settings.types == {"flat": (), "rows": ("example.com/rack", "example.com/row")}
    assert (settings.faults, settings.is_sound) == ((), True)


@pytest.mark.parametrize("text", ["", "networkTopologyDiscovery: []", SOUND.replace("true", "false"), "other: 1"])
def test_nothing_to_discover(text: str) -> None:
    """What there is stays as it is."""
    settings = read_settings(text)

    assert (settings.types, settings.faults) == (None, ())


@pytest.mark.parametrize("source", ["ufm", "roce", "lldp"])
def test_sources_that_there_are_not(source: str) -> None:
    """They are reported, and labels are read all the same."""
    settings = read_settings(f"{SOUND}  - source: {source}\n    enabled: true\n")

    (fault,) = settings.faults
    assert fault.path == "networkTopologyDiscovery[1].source"
    assert settings.is_sound
    assert settings.types is not None


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("rows", "a" * 21, f"config.networkTopologyTypes.{'a' * 21}"),
        ("rows", "rows.", "config.networkTopologyTypes.rows."),
        ("example.com/rack", "example.com/row", "config.networkTopologyTypes.rows[1].nodeLabel"),
        ("nodeLabel: example.com/rack", "label: x", "config.networkTopologyTypes.rows[1].nodeLabel"),
        ("          - nodeLabel: kubernetes.io/hostname\n        flat:", "        flat: 1\n        bent:", "flat"),
    ],
)
def test_faulty_types_are_reported_and_nothing_changes(old: str, new: str, path: str) -> None:
    """Half of the settings is no wish to take the rest away."""
    settings = read_settings(SOUND.replace(old, new, 1))

    assert not settings.is_sound
    assert any(path in fault.path for fault in settings.faults)


@pytest.mark.parametrize(
    "text",
    [
        "networkTopologyDiscovery: 1",
        "[",
        "- 1",
        "networkTopologyDiscovery: [1]",
        "networkTopologyDiscovery: [{source: label, enabled: perhaps}]",
        "networkTopologyDiscovery: [{source: label, enabled: true, config: 1}]",
        "networkTopologyDiscovery: [{source: label, enabled: true, config: {networkTopologyTypes: [1]}}]",
    ],
)
def test_invalid_texts_are_reported(text: str) -> None:
    """And discover nothing."""
    settings = read_settings(text)

    assert settings.faults
    assert not settings.types


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Nothing is raised."""
    read_settings(text)
    read_settings(f"networkTopologyDiscovery:\n  - source: label\n    enabled: true\n    config: {text}")
