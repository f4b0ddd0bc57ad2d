"""Section `metrics`: its values, and faults of sources that cannot be queried."""

import pytest

from pyroclast.framework.configuration import interval_of, read_source
from pyroclast.framework.configuration.notes import Notes
from pyroclast.model.secrets import SecretText
from pyroclast.model.usage import UsageSource

ADDRESS = "http://prometheus:9090"


def test_a_source_is_read_with_its_defaults() -> None:
    """Every half minute, certificates checked."""
    notes = Notes()

    assert read_source({"type": "prometheus", "address": f"{ADDRESS}/"}, notes=notes) == UsageSource(
        type="prometheus", address=ADDRESS, interval_seconds=30.0
    )
    assert notes.warnings == []


def test_every_key_of_elasticsearch_is_read() -> None:
    """Index, authentication, the field that names the node."""
    metrics = {
        "type": "elasticsearch",
        "address": "https://elastic:9200",
        "interval": "1m30s",
        "tls.insecureSkipVerify": "true",
        "elasticsearch.index": "beats-*",
        "elasticsearch.username": "reader",
        "elasticsearch.password": "secret",
        "elasticsearch.hostnameFieldName": "host.name",
    }

    assert read_source(metrics) == UsageSource(
        type="elasticsearch",
        address="https://elastic:9200",
        interval_seconds=90.0,
        is_insecure=True,
        index="beats-*",
        username="reader",
        password=SecretText("secret"),
        host_field="host.name",
    )


@pytest.mark.parametrize("kind", ["prometheus", "elasticsearch"])
def test_credentials_of_an_address_are_kept_apart(kind: str) -> None:
    """The address stands in logs; the password prints as stars."""
    source = read_source({"type": kind, "address": "https://reader:s%40cret@metrics:9090/base/"})

    assert source is not None
    assert (source.address, source.username) == ("https://metrics:9090/base", "reader")
    assert source.password.reveal() == "s@cret"
    assert "s@cret" not in repr(source)
    assert "s%40cret" not in repr(source)


def test_a_fault_of_an_address_does_not_repeat_its_credentials() -> None:
    """Warnings stand in logs, too."""
    notes = Notes()

    assert read_source({"type": "prometheus", "address": "reader:secret@metrics:9090"}, notes=notes) is None
    assert notes.warnings == [
        "metrics.address: got 'metrics:9090', so nothing is measured; expected a URL, http://prometheus:9090"
    ]


def test_the_adaptor_needs_no_address() -> None:
    """The API server answers for it."""
    assert read_source({"type": "prometheus_adaptor"}) == UsageSource(type="prometheus_adaptor")


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ({"address": ADDRESS}, "metrics.type: missing"),
        ({"type": "promethus", "address": ADDRESS}, "metrics.type: unknown source 'promethus'"),
        ({"type": "prometheus"}, "metrics.address: missing"),
        ({"type": "prometheus", "address": "prometheus:9090"}, "metrics.address: got 'prometheus:9090'"),
    ],
)
def test_an_unreachable_source_is_reported(metrics: dict[str, str], told: str) -> None:
    """Nothing is measured, and the author gets a warning."""
    notes = Notes()

    assert read_source(metrics, notes=notes) is None
    assert [warning.startswith(told) for warning in notes.warnings] == [True]


def test_no_section_is_no_source() -> None:
    """There is no fault."""
    notes = Notes()

    assert read_source({}, notes=notes) is None
    assert notes.warnings == []


def test_all_faults_of_a_section_are_reported_at_once() -> None:
    """An interval is looked at although nothing can be asked."""
    notes = Notes()

    assert read_source({"type": "prometheus", "interval": "soon"}, notes=notes) is None
    assert sorted(warning.split(":")[0] for warning in notes.warnings) == ["metrics.address", "metrics.interval"]


@pytest.mark.parametrize("interval", ["soon", "0s", "-5s", "30"])
def test_an_interval_that_is_none_keeps_the_default(interval: str) -> None:
    """With a warning; so does an unknown key."""
    notes = Notes()
    metrics = {"type": "prometheus_adaptor", "interval": interval, "intervall": "1s"}
    source = read_source(metrics, notes=notes)

    assert source is not None
    assert source.interval_seconds == interval_of(metrics) == 30.0
    assert sorted(warning.split(":")[0] for warning in notes.warnings) == ["metrics.interval", "metrics.intervall"]
