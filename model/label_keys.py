"""Keys of labels and annotations, and values of labels, as Kubernetes validates them."""

import re
from typing import Final

__all__ = ["LONGEST_SUBDOMAIN", "is_annotation_key", "is_label_key", "is_label_value", "is_subdomain"]

LONGEST_SUBDOMAIN: Final = 253
_PART: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_PART}(?:\.{_PART})*", re.ASCII)
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)


def is_subdomain(text: str) -> bool:
    """Return whether a text is a DNS subdomain of at most 253 characters."""
    return len(text) <= LONGEST_SUBDOMAIN and bool(_SUBDOMAIN.fullmatch(text))


def is_label_key(key: str) -> bool:
    """Return whether the key of a label is valid: a name of at most 63 characters, with or without a DNS subdomain."""
    prefix, slash, name = key.rpartition("/")
    return (not slash or is_subdomain(prefix)) and bool(_LABEL_NAME.fullmatch(name))


def is_label_value(text: str) -> bool:
    """Return whether a text may be the value of a label: empty, or at most 63 characters."""
    return not text or bool(_LABEL_NAME.fullmatch(text))


def is_annotation_key(key: str) -> bool:
    """Return whether the key of an annotation is valid. Unlike that of a label it may have capitals in its prefix."""
    return is_label_key(key.lower())
