"""Watched kinds: kinds of objects that plugins watch beside those that the scheduler reads, and their objects.

The objects are plain: mappings as the API server sends them, without a struct.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.sealed import SealedDict, sealed

__all__ = ["Unstructured", "WatchedKind", "check_name", "is_watched"]

_GROUP: Final = re.compile(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?")
_WORD: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_LABEL_KEY: Final = re.compile(r"([a-z0-9][-a-z0-9.]*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_MOST_CHARACTERS: Final = 253
_MOST_LABELS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedKind:
    """A kind of objects, and which of its objects a plugin watches. Equal declarations share one watch."""

    group: str = ""
    """Its API group; empty for the core group."""
    version: str
    resource: str
    """Its plural in paths: `licences`."""
    kind: str
    """Its name in objects: `Licence`."""
    is_namespaced: bool = True
    namespace: str = ""
    """Only objects of this namespace; empty for all."""
    labels: Mapping[str, str] = field(default_factory=SealedDict)
    """Only objects with all of these labels."""

    def __post_init__(self) -> None:
        """Check the parts, which become parts of paths.

        Raises:
            TypeError: A part is of another type.
            ValueError: A part is no name of its kind.
        """
        for name, pattern in (("group", _GROUP), ("version", _WORD), ("resource", _WORD), ("kind", _KIND)):
            _check(name, getattr(self, name), pattern)
        if self.namespace:
            _check("namespace", self.namespace, _WORD)
            if not self.is_namespaced:
                raise ValueError(f"{self.resource} have no namespaces, got namespace {self.namespace!r}")
        labels: Any = self.labels  # plugins need not be checked for types
        if not isinstance(labels, Mapping) or len(labels) > _MOST_LABELS:
            raise ValueError(f"labels: expected a mapping of at most {_MOST_LABELS} labels")
        for key, value in labels.items():
            _check("labels", key, _LABEL_KEY)
            _check("labels", value, _LABEL_VALUE)
        object.__setattr__(self, "labels", SealedDict(sorted(self.labels.items())))

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def label_selector(self) -> str:
        """Its labels as the API server takes them."""
        return ",".join(f"{key}={value}" for key, value in self.labels.items())

    @property
    def name(self) -> str:
        """Its identity: `resource.version.group`, as kubectl writes it, with the selection behind a slash or a `?`."""
        namespace = f"/{self.namespace}" if self.namespace else ""
        labels = f"?{self.label_selector}" if self.labels else ""
        return f"{self.resource}.{self.version}.{self.group}{namespace}{labels}"

    def selects(self, item: Mapping[str, Any], metadata: ObjectMeta) -> bool:
        """Return whether an object from a file is one of those watched."""
        return (
            item.get("kind") == self.kind
            and item.get("apiVersion") == self.api_version
            and self.namespace in ("", metadata.namespace)
            and all(metadata.labels.get(key) == value for key, value in self.labels.items())
        )


def check_name(what: str, value: Any) -> None:
    """Check a namespace, or another part of a path that is one word of lower-case letters.

    Raises:
        TypeError: It is no text.
        ValueError: It is another word.
    """
    _check(what, value, _WORD)


def _check(name: str, value: Any, pattern: re.Pattern[str]) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, got {type(value).__name__}")
    if len(value) > _MOST_CHARACTERS or not pattern.fullmatch(value):
        raise ValueError(f"{name}: got {value[:_MOST_CHARACTERS]!r}, which Kubernetes does not accept there")


def is_watched(kind: str) -> bool:
    """Return whether the name of a kind is that of a watched kind: those of the scheduler have no dots."""
    return "." in kind


class Unstructured(SealedDict[str, Any]):
    """An object as plain JSON, read-only at every depth, without `managedFields`."""

    __slots__ = ("metadata", "size")

    metadata: ObjectMeta
    """Its metadata as a struct; the mapping has all of it."""
    size: int
    """Bytes of its JSON."""

    def __init__(self, content: Mapping[str, Any], size: int | None = None) -> None:
        """Take over an object; `size` is that of its JSON if it is known.

        Raises:
            msgspec.ValidationError: It is no object, or a field of its metadata has the wrong type.
            RecursionError: It is nested too deeply.
        """
        given = content.get("metadata")
        metadata = {} if given is None else given
        self.metadata = msgspec.convert(metadata, ObjectMeta)
        plain = {key: each for key, each in metadata.items() if key != "managedFields"}
        super().__init__(sealed({**content, "metadata": plain}))
        self.size = len(msgspec.json.encode(self)) if size is None else size
