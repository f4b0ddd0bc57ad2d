"""String formats that a schema may name, such as `date-time` or `ipv4`."""

import base64
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

__all__ = ["follows_format"]

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z")
_DURATION = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*\Z")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\Z")
_HEX_COLOR = re.compile(r"#?([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})\Z")
_HOST_NAME = re.compile(
    r"(?=.{1,255}\Z)[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*\Z"
)
_MAC = re.compile(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\Z")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12}\Z")


def follows_format(name: str, text: str) -> bool:
    """Return whether `text` has the format; formats unknown to the API server hold for all texts."""
    check = _CHECKS.get(name)
    return check is None or check(text)


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _is_date_time(text: str) -> bool:
    return bool(_DATE_TIME.match(text)) and _parses(datetime.fromisoformat)(re.sub(r"\.\d+", "", text.upper()))


def _is_date(text: str) -> bool:
    return len(text) == 10 and _parses(date.fromisoformat)(text)


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


_CHECKS: dict[str, Callable[[str], bool]] = {
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "cidr": _parses(lambda text: ipaddress.ip_network(text, strict=False)),
    "date": _is_date,
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "duration": lambda text: text == "0" or bool(_DURATION.match(text)),
    "email": lambda text: bool(_EMAIL.match(text)),
    "hexcolor": lambda text: bool(_HEX_COLOR.match(text)),
    "hostname": lambda text: bool(_HOST_NAME.match(text)),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "mac": lambda text: bool(_MAC.match(text)),
    "uri": _is_uri,
    "uuid": lambda text: bool(_UUID.match(text)),
}
