"""Spelling of names, label keys and label values, with Kubernetes' words for what is wrong."""

from __future__ import annotations

import re

__all__ = ["dns_label_faults", "dns_subdomain_faults", "label_key_faults", "label_value_faults"]

_NAME = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])\Z")
_VALUE = re.compile(r"((([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?)\Z")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_QUALIFIED_RULE = (
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def dns_label_faults(name: str) -> list[str]:
    """Say what keeps `name` from being an RFC 1123 label; nothing when it is one."""
    faults = []
    if len(name) > 63:
        faults.append("must be no more than 63 characters")
    if not _LABEL.match(name):
        faults.append("must not contain dots" if _SUBDOMAIN.match(name) else _LABEL_RULE)
    return faults


def dns_subdomain_faults(name: str) -> list[str]:
    """Say what keeps `name` from being an RFC 1123 subdomain; nothing when it is one."""
    faults = []
    if len(name) > 253:
        faults.append("must be no more than 253 characters")
    if not _SUBDOMAIN.match(name):
        faults.append(_SUBDOMAIN_RULE)
    return faults


def label_key_faults(key: str) -> list[str]:
    """Say what keeps `key` from being a label key such as `example.com/role`."""
    parts = key.split("/")
    if len(parts) > 2:
        return [_QUALIFIED_RULE]
    faults = []
    if len(parts) == 2:
        if not parts[0]:
            faults.append("prefix part must be non-empty")
        else:
            faults.extend(f"prefix part {fault}" for fault in dns_subdomain_faults(parts[0]))
    name = parts[-1]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > 63:
        faults.append("name part must be no more than 63 characters")
    if not _NAME.match(name):
        faults.append(f"name part {_NAME_RULE}")
    return faults


def label_value_faults(value: str) -> list[str]:
    """Say what keeps `value` from being a label value; the empty one is fine."""
    faults = []
    if len(value) > 63:
        faults.append("must be no more than 63 characters")
    if not _VALUE.match(value):
        faults.append(_VALUE_RULE)
    return faults
