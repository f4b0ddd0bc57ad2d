"""Names as Kubernetes allows them, each with its limit in words."""

import re
from typing import Final

__all__ = [
    "DNS_LABEL",
    "DNS_SUBDOMAIN",
    "JOB_NAME",
    "LABEL_VALUE",
    "QUALIFIED_NAME",
    "is_dns_label",
    "is_dns_subdomain",
    "is_qualified_name",
]

DNS_LABEL: Final = "at most 63 lower case letters, digits and '-', a letter or digit at both ends"
DNS_SUBDOMAIN: Final = (
    "at most 253 lower case letters, digits, '-' and '.', a letter or digit at both ends of each part"
)
JOB_NAME: Final = "at most 63 lower case letters, digits, '-' and '.', a letter or digit at both ends of each part"
LABEL_VALUE: Final = "at most 63 letters, digits, '-', '_' and '.', a letter or digit at both ends"
QUALIFIED_NAME: Final = (
    "at most 63 letters, digits, '-', '_' and '.', a letter or digit at both ends, optionally after a DNS subdomain "
    "and '/'"
)

_LONGEST_PART: Final = 63
_LONGEST_SUBDOMAIN: Final = 253

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NAME_PART = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


def is_dns_label(text: str) -> bool:
    """Return whether a text is a DNS label (RFC 1123)."""
    return len(text) <= _LONGEST_PART and _LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """Return whether a text is a DNS subdomain (RFC 1123)."""
    return len(text) <= _LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(text) is not None


def is_qualified_name(text: str) -> bool:
    """Return whether a text may be the key of a label."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return len(name) <= _LONGEST_PART and _NAME_PART.fullmatch(name) is not None
