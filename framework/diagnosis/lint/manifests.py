"""Manifests: which manifests concern the scheduler, and their combined configuration."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from pyroclast.framework.configuration.kubescheduler.translation import is_kube_scheduler_configuration
from pyroclast.framework.configuration.parser import TOP_KEYS
from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.framework.configuration.text import read_yaml_documents
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.framework.diagnosis.lint.parents import lint_queue_parents, lint_quota_parents
from pyroclast.framework.diagnosis.lint.queues import lint_queue
from pyroclast.model.errors import ConfigError

__all__ = ["check_manifests", "is_manifest"]

CONFIG_MAP, QUEUE, QUOTA = "ConfigMap", "Queue", "ElasticQuota"
QUEUE_GROUP: Final = "scheduling.volcano.sh"
ELSEWHERE: Final[Mapping[str, str]] = {
    "kueue.x-k8s.io": "an object of Kueue; queues of this scheduler are of kind Queue in scheduling.volcano.sh",
    "scheduling.run.ai": "an object of KAI; queues of this scheduler are of kind Queue in scheduling.volcano.sh",
}
"""Descriptions of other schedulers' objects, by API group."""
NOTHING_FOUND: Final = "no configuration: expected actions and tiers, a ConfigMap that holds them, or Queues"
CUSTOMARY_KEY: Final = "volcano-scheduler.conf"
"""Key of the configuration in Volcano's manifests and in their `--scheduler-conf`."""
KOORDINATORS_KEY: Final = "koord-scheduler-config"
"""Key of the configuration in Koordinator's manifests."""
FIELDS: Final = ("apiVersion", "kind", "metadata", "data", "binaryData", "immutable")


def is_manifest(document: object) -> bool:
    """Return whether a document is an object of Kubernetes; a configuration with a `kind` is none."""
    if not isinstance(document, Mapping) or "kind" not in document or is_kube_scheduler_configuration(document):
        return False
    return _group(document) in ELSEWHERE or not any(key in TOP_KEYS for key in document)


def check_manifests(documents: Iterable[object], check_configuration: Callable[..., list[Finding]]) -> list[Finding]:
    """Return everything about manifests.

    Args:
        documents: Objects and lists of them.
        check_configuration: Looks a configuration over, given as a text.
    """
    checked: list[Finding] = []
    is_concerned = False

    def check(text: str) -> list[Finding]:
        nonlocal is_concerned
        is_concerned = True
        return check_configuration(text)

    objects = list(_flattened(documents))
    manifests = [each for each in objects if isinstance(each, Mapping) and is_manifest(each)]
    if len(manifests) < len(objects):
        fault = "a document is not a manifest; a configuration must be the only document of its file"
        checked.append(Finding(Severity.FAULT, "", fault))
        is_concerned = True
    for manifest in manifests:
        checked += _check_manifest(manifest, check)
    queues, quotas = ([each for each in manifests if _is_ours(each, kind)] for kind in (QUEUE, QUOTA))
    checked += [*lint_queue_parents(queues), *lint_quota_parents(quotas)]
    if not (is_concerned or queues or quotas):
        checked.append(Finding(Severity.FAULT, "", NOTHING_FOUND))
    return checked


def _check_manifest(manifest: Mapping[str, Any], check: Callable[[str], list[Finding]]) -> Iterable[Finding]:
    if _is_ours(manifest, QUEUE):
        return lint_queue(manifest)
    if manifest["kind"] == CONFIG_MAP:
        return _lint_config_map(manifest, check)
    return () if _is_ours(manifest, QUOTA) else [_not_looked_at(manifest)]


def _not_looked_at(manifest: Mapping[str, Any]) -> Finding:
    kind = str(manifest["kind"])
    if about := ELSEWHERE.get(_group(manifest)):
        return Finding(Severity.WARNING, "kind", f"{kind!r} is {about}")
    hint = did_you_mean(kind, (CONFIG_MAP, QUEUE))
    return Finding(Severity.WARNING if hint else Severity.NOTE, "kind", f"{kind!r} is ignored{hint}")


def _is_ours(manifest: Mapping[str, Any], kind: str) -> bool:
    """Return whether an object is of a kind of ours; without an API version it is taken for one."""
    is_queue = kind == QUEUE
    return manifest["kind"] == kind and (not is_queue or _group(manifest) in {"", QUEUE_GROUP})


def _group(manifest: Mapping[str, Any]) -> str:
    group, slash, _ = str(manifest.get("apiVersion") or "").partition("/")
    return group if slash else ""


def _flattened(documents: Iterable[object]) -> Iterator[object]:
    """Yield documents, and the items of lists among them."""
    for document in documents:
        if isinstance(document, Mapping) and str(document.get("kind", "")).endswith("List"):
            yield from document.get("items") or ()
        elif document is not None:
            yield document


def _lint_config_map(manifest: Mapping[str, Any], check: Callable[[str], Iterable[Finding]]) -> Iterator[Finding]:
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
    if key not in (CUSTOMARY_KEY, KOORDINATORS_KEY) and (hint := did_you_mean(key, (CUSTOMARY_KEY,))):
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
    if any(map(is_kube_scheduler_configuration, documents)):
        return True
    keys = [str(key) for document in documents if isinstance(document, Mapping) for key in document]
    return any(key in TOP_KEYS or did_you_mean(key, TOP_KEYS) for key in keys)
