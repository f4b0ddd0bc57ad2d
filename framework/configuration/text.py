"""The text of a configuration becomes plain values, with every fault that YAML itself lets pass.

Values resolve as in Volcano's YAML reader: `1e3` is a number; `2026-01-01` and `10:30` are texts, where Python's
reader sees a date and a number of base 60. A key that stands twice in one mapping is a fault: one of the two would
silently lose.
"""

import re
from typing import Any, Final

import yaml

from pyroclast.model.errors import ConfigError
from pyroclast.model.yaml_faults import YAML_FAULTS, yaml_fault

__all__ = ["read_yaml", "read_yaml_documents"]

MAX_CHARACTERS: Final = 2**20
"""A ConfigMap holds no more."""

RESOLVED_HERE: Final = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}


class _Loader(yaml.SafeLoader):
    """Safe YAML that notices duplicate keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and shape are the library's
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in RESOLVED_HERE]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Look at the keys as written, before merge keys (`<<`) bring in others."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    self.duplicates.append(f"line {key.start_mark.line + 1}: the key {key.value!r} occurs twice")
                seen.add(key.value)
        return node


# integers first: the pattern of floats matches them too
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(?:[0-9][0-9_]*)?\.?[0-9]+(?:[eE][-+]?[0-9]+)?$|^[-+]?[0-9]+\.$"
        r"|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)


def read_yaml(text: str) -> Any:
    """Parse a text of one YAML document. Empty documents beside it, as after a last `---`, are ignored.

    Raises:
        ConfigError: It is no YAML, a key stands twice, or there are several documents.
    """
    documents = [document for document in read_yaml_documents(text) if document is not None]
    if len(documents) > 1:
        raise ConfigError("the configuration: more than one YAML document")
    return documents[0] if documents else None


def read_yaml_documents(text: str) -> list[Any]:
    """Parse each document of a text.

    Raises:
        ConfigError: It is no YAML, or a key stands twice.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"the configuration: longer than {MAX_CHARACTERS} characters")
    documents = []
    try:
        loader = _Loader(text)
        while loader.check_data():  # type: ignore[no-untyped-call]  # the library's stubs leave it untyped
            documents.append(loader.get_data())
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_sentence(error)) from None
    except YAML_FAULTS as error:
        raise ConfigError(f"the configuration: not YAML: {yaml_fault(error)}") from None
    if loader.duplicates:
        raise ConfigError(*loader.duplicates)
    return documents


def _sentence(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return f"{place}not YAML: {error.problem or error.context}"
