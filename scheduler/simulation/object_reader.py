"""Reading objects: YAML or JSON, several documents, Lists, folders, standard input."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from pyroclast.model.errors import PyroclastError
from pyroclast.model.yaml_faults import YAML_FAULTS, yaml_fault
from pyroclast.scheduler.cli.file_errors import why

__all__ = ["ReadError", "read_objects", "read_text"]

STANDARD_INPUT: Final = "-"
SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
"""Suffixes of the files that are read in a folder."""

_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVED_HERE: Final = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}


class ReadError(PyroclastError):
    """A file of objects cannot be read. Remedy: fix the file that the message names."""


class _Loader(_BASE):  # type: ignore[misc]  # the library's C loader is untyped
    """YAML as Kubernetes reads it: times are text, and `10:30` is not a base-60 number."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and shape are the library's
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _RESOLVED_HERE]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def flatten_mapping(self, node: Any) -> None:
        """Check the keys as written, before merge keys (`<<`) add others."""
        if not hasattr(node, "has_checked_keys"):
            node.has_checked_keys = True
            _refuse_repeated_keys(node)
        super().flatten_mapping(node)


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    """Refuse a repeated key: two objects without `---` between them would be merged."""
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is repeated; is a '---' missing?", key.start_mark
                )
            seen.add(key.value)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0x[0-9a-fA-F]+|0|[1-9][0-9]*)$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?[0-9]+[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def read_text(path: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        ReadError: It cannot be read.
    """
    try:
        return sys.stdin.read() if path == STANDARD_INPUT else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"{path}: {why(error)}") from error


def read_objects(paths: Iterable[str]) -> list[Mapping[str, Any]]:
    """Return the objects of files and folders, in order; `-` is standard input.

    Raises:
        ReadError: A file cannot be read, is neither YAML nor JSON, or contains something that is not an object.
    """
    return [each for path in paths for file in _files(path) for each in _documents(file)]


def _files(path: str) -> Iterator[str]:
    if path == STANDARD_INPUT or not Path(path).is_dir():
        yield path
        return
    found = sorted(file for file in Path(path).rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not found:
        raise ReadError(f"{path}: the folder has no file that ends in {', '.join(sorted(SUFFIXES))}")
    yield from map(str, found)


def _documents(path: str) -> Iterator[Mapping[str, Any]]:
    for number, document in enumerate(_parsed(path, read_text(path)), start=1):
        if document is None:
            continue  # a separator with nothing behind it
        for each in document if isinstance(document, list) else [document]:
            if not isinstance(each, Mapping):
                raise ReadError(f"{path}: document {number}: expected an object, got {type(each).__name__}")
            yield each


def _parsed(path: str, text: str) -> list[Any]:
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return [msgspec.json.decode(text)]
        except (msgspec.DecodeError, RecursionError):
            pass  # several JSON documents, or YAML in flow style: the YAML parser reads both
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
    except YAML_FAULTS as error:
        return _json_stream(path, text, error)
    if _holds_itself(documents, set(), set()):
        raise ReadError(f"{path}: an alias is part of the value that it names")
    return documents


def _holds_itself(value: Any, ancestors: set[int], checked: set[int]) -> bool:
    """Return whether a value contains itself. The sets hold the identities of open and of checked values."""
    if not isinstance(value, (dict, list)) or id(value) in checked:
        return False
    if id(value) in ancestors:
        return True
    ancestors.add(id(value))
    if any(_holds_itself(each, ancestors, checked) for each in (value.values() if isinstance(value, dict) else value)):
        return True
    ancestors.remove(id(value))
    checked.add(id(value))
    return False


def _json_stream(path: str, text: str, fault: Exception) -> list[Any]:
    """Parse JSON documents, one per line. Otherwise raise the fault of the YAML parser."""
    try:
        return msgspec.json.Decoder().decode_lines(text)
    except (msgspec.DecodeError, RecursionError):
        raise ReadError(f"{path}: neither YAML nor JSON: {yaml_fault(fault)}") from None
