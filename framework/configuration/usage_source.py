"""Section `metrics`: where measurements of what nodes really use come from."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from pyroclast.framework.configuration.notes import Notes, below
from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.model.durations import parse_duration
from pyroclast.model.secrets import SecretText
from pyroclast.model.usage import UsageSource

__all__ = ["KEYS", "interval_of", "read_source"]

ADAPTOR: Final = "prometheus_adaptor"
TYPES: Final = ("prometheus", ADAPTOR, "elasticsearch")
KEYS: Final = (
    "type",
    "address",
    "interval",
    "tls.insecureSkipVerify",
    "elasticsearch.index",
    "elasticsearch.username",
    "elasticsearch.password",
    "elasticsearch.hostnameFieldName",
)
DEFAULT: Final = UsageSource(type="")


def read_source(metrics: Mapping[str, str], path: str = "metrics", notes: Notes | None = None) -> UsageSource | None:
    """Return the source that a section names; None if it names none that can be asked.

    Faults are noted as warnings, because placement continues without measurements.
    """
    notes = notes or Notes()
    if not metrics:
        return None
    notes.unknown_keys(path, metrics, KEYS)
    kind, address = metrics.get("type", ""), metrics.get("address", "")
    interval_seconds = _interval(metrics, path, notes)
    if not kind:
        notes.warn(below(path, "type"), "missing, so nothing is measured; name one of " + ", ".join(TYPES))
        return None
    if kind not in TYPES:
        hint = did_you_mean(kind, TYPES)
        notes.warn(below(path, "type"), f"unknown source {kind!r}, so nothing is measured{hint}")
        return None
    if kind != ADAPTOR and not _is_url(address):
        # what stands before an @ may be a password
        got = f"got {address.rpartition('@')[2]!r}" if address else "missing"
        notes.warn(below(path, "address"), f"{got}, so nothing is measured; expected a URL, http://prometheus:9090")
        return None
    address, username, password = _without_credentials(address)
    return UsageSource(
        type=kind,
        address=address.rstrip("/"),
        interval_seconds=interval_seconds,
        is_insecure=metrics.get("tls.insecureSkipVerify") == "true",
        index=metrics.get("elasticsearch.index") or DEFAULT.index,
        username=metrics.get("elasticsearch.username") or username,
        password=SecretText(metrics.get("elasticsearch.password") or password),
        host_field=metrics.get("elasticsearch.hostnameFieldName") or DEFAULT.host_field,
    )


def _is_url(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _without_credentials(address: str) -> tuple[str, str, str]:
    """Return an address without `user:password@`, the user, and the password: addresses stand in logs."""
    if not address:
        return "", "", ""
    parts = urlsplit(address)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return bare, unquote(parts.username or ""), unquote(parts.password or "")


def interval_of(metrics: Mapping[str, str]) -> float:
    """Return the seconds between two collections, which is how long the load of a new pod stays unseen."""
    return _interval(metrics, "metrics", Notes())


def _interval(metrics: Mapping[str, str], path: str, notes: Notes) -> float:
    text = metrics.get("interval")
    if text is None:
        return DEFAULT.interval_seconds
    try:
        seconds = float(parse_duration(text))
    except ValueError:
        seconds = 0.0
    if seconds > 0:
        return seconds
    notes.warn(below(path, "interval"), f"got {text!r}, expected a duration above 0 such as 30s; 30s is kept")
    return DEFAULT.interval_seconds
