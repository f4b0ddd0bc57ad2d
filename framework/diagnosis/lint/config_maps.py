"""ConfigMaps as they are applied: which of their entries are configurations, and which keys are not read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from pyroclast.framework.configuration.parser import TOP_KEYS
from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.framework.configuration.text import read_yaml_documents
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.model.errors import ConfigError

__all__ = ["lint_config_map"]

CUSTOMARY_KEY: Final = "volcano-scheduler.conf"
"""Key of the configuration in Volcano's manifests and in their `--scheduler-conf`."""

FIELDS: Final = ("apiVersion", "kind", "metadata", "data", "binaryData", "immutable")


def lint_config_map(manifest: Mapping[str, Any], check: Callable[[str], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield what stands out in a ConfigMap, and in each of its entries that is a configuration.

    Args:
        manifest: The object.
        check: Looks a configuration over.
    """
    for field in manifest:
        if field not in FIELDS:
            yield Finding(Severity.WARNING, str(field), f"unknown key, it has no effect{did_you_mean(field, FIELDS)}")
    data = manifest.get("data")
    if data is not None and not isinstance(data, Mapping):
        yield Finding(Severity.FAULT, "data", f"got {data!r}, expected texts by key")
    elif not data:
        yield Finding(Severity.WARNING, "data", "no entries: there is no configuration in this ConfigMap")
    else:
        for key, text in data.items():
            yield from _lint_entry(str(key), text, check)


def _lint_entry(key: str, text: object, check: Callable[[str], Iterable[Finding]]) -> Iterator[Finding]:
    path = f"data[{key}]"
    if not isinstance(text, str):
        yield Finding(Severity.FAULT, path, f"got {text!r}, expected a text; write the configuration below `{key}: |`")
        return
    if key != CUSTOMARY_KEY and not _is_configuration(text):
        yield Finding(Severity.NOTE, path, "ignored: it has neither actions nor tiers")
        return
    if key != CUSTOMARY_KEY and (hint := did_you_mean(key, (CUSTOMARY_KEY,))):
        yield Finding(Severity.WARNING, path, f"--scheduler-conf must name the file of this key{hint}")
    for finding in check(text):
        yield Finding(finding.severity, f"{path}: {finding.path}" if finding.path else path, finding.message)


def _is_configuration(text: str) -> bool:
    """Return whether a text is meant as a configuration: a key of one stands in it, if misspelt; or it is faulty."""
    if not text.strip():
        return True
    try:
        documents = read_yaml_documents(text)
    except ConfigError:
        return True  # the reader of the configuration reports the fault
    keys = [str(key) for document in documents if isinstance(document, Mapping) for key in document]
    return any(key in TOP_KEYS or did_you_mean(key, TOP_KEYS) for key in keys)
