"""Each built-in plugin and action has its page: its table of arguments is that of the code, its example is computed."""

import dataclasses
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pyroclast.actions.registry import register_built_in as register_actions
from pyroclast.framework.configuration.arguments import keys_of
from pyroclast.framework.configuration.conversions import convert
from pyroclast.framework.extension.registry import Builder, Registry
from pyroclast.framework.extension.served import EVICTABLE, can_serve
from pyroclast.plugins.registry import register_built_in as register_plugins

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "tests" / "unit" / "examples"
ROW = re.compile(r"^\| `([^`]+)` \| (?:`([^`]*)`)? ?\| (.+) \|$", re.MULTILINE)
SECTIONS = ("Example", "Interactions", "Differences from Volcano")
WHO_DECIDES: dict[str, tuple[str, ...]] = {
    "enqueue": ("enableJobEnqueued",),
    "allocate": ("enabledAllocatable",),
    "preempt": ("enablePreemptable",),
    "reclaim": ("enableReclaimable", "enablePreemptive"),
    "gangpreempt": (),
    "gangreclaim": ("enablePreemptive",),
    "shuffle": ("enabledVictim",),
}
"""Flags of the points at which each action asks who may do something; those of gangs ask one without a flag, too."""


def registry() -> Registry:
    """Plugins and actions that are built in."""
    made = Registry()
    register_plugins(made)
    register_actions(made)
    return made


def pages() -> Iterator[tuple[Path, Builder]]:
    """Each page that must be there, with what it describes."""
    built_in = registry()
    for name in built_in.names():
        yield DOCS / "plugins" / f"{name}.md", built_in.builder(name)
    for name in built_in.action_names():
        yield DOCS / "actions" / f"{name}.md", built_in.action(name)


PAGES = list(pages())
EACH = pytest.mark.parametrize(("page", "builder"), PAGES, ids=[page.stem for page, _ in PAGES])


def written(default: Any) -> str:
    """A default as pages write it."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, Fraction):
        return str(float(default)).removesuffix(".0")
    if isinstance(default, tuple) and default and dataclasses.is_dataclass(default[0]):
        points = ("{" + ", ".join(f"{key}: {value}" for key, value in _fields(each)) + "}" for each in default)
        return "[" + ", ".join(points) + "]"
    return str(default)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of what is set; a structure inside in which nothing is set is left out."""
    values = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
    return ((field.name, of) for field, of in values if not (dataclasses.is_dataclass(of) and of == _made(field)))


def defaults(arguments: type | None) -> dict[str, str]:
    """Defaults by key, as pages write them; empty for keys with a `<name>` in them."""
    if arguments is None:
        return {}
    found: dict[str, str] = {}
    for field in dataclasses.fields(arguments):
        own = dataclasses.make_dataclass("Own", [(field.name, field.type, _copy(field))])
        default = field.default if field.default is not dataclasses.MISSING else _made(field)
        for key in keys_of(own):
            found[key] = "" if "<" in key or field.metadata.get("nested") else written(default)
            if field.metadata.get("nested"):
                found |= {f"{key}.{inner}": each for inner, each in defaults(type(default)).items()}
    return found


def _copy(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return dataclasses.field(default=field.default, metadata=field.metadata)
    return dataclasses.field(default_factory=field.default_factory, metadata=field.metadata)


def _made(field: dataclasses.Field[Any]) -> Any:
    assert field.default_factory is not dataclasses.MISSING
    return field.default_factory()


def documented(page: Path) -> dict[str, str]:
    """Keys and defaults of the table under `## Arguments`."""
    section = page.read_text().split("## Arguments\n", 1)[1].split("\n## ", 1)[0]
    return {key: default for key, default, _ in ROW.findall(section)}


@EACH
def test_each_has_its_page(page: Path, builder: Builder) -> None:
    """Named like it, with its name on top, and the sections that every page has."""
    text = page.read_text()

    assert text.startswith(f"# {builder.name}\n")
    assert [section for section in ("Arguments", *SECTIONS) if f"\n## {section}\n" not in text] == []


@EACH
def test_arguments_and_defaults_are_those_of_the_code(page: Path, builder: Builder) -> None:
    """Every key in the order of the dataclass, and no other."""
    assert list(documented(page).items()) == list(defaults(builder.arguments).items())


@EACH
def test_the_example_is_computed(page: Path, builder: Builder) -> None:
    """A test with the name of the page compares its sentences with the page and leaves no number out."""
    test = EXAMPLES / page.parent.name / f"test_{builder.name.replace('-', '_')}.py"

    assert f'assert_tells("{page.parent.name}/{builder.name}",' in "".join(test.read_text().split())


@pytest.mark.parametrize("action", WHO_DECIDES)
def test_pages_of_actions_name_the_deciding_plugins(action: str) -> None:
    """Every plugin that has a say on who is admitted, placed or evicted, by a link to its page."""
    text = (DOCS / "actions" / f"{action}.md").read_text()
    flags = WHO_DECIDES[action]
    decides = {name for name in registry().names() if any(can_serve(name, flag) for flag in flags)}
    decides |= EVICTABLE if action in {"gangpreempt", "gangreclaim"} else frozenset()

    assert decides
    assert {name for name in decides if f"../plugins/{name}.md" not in text} == set()


@EACH
def test_links_lead_somewhere(page: Path, builder: Builder) -> None:
    """Relative ones to a file that is there."""
    links = re.findall(r"\]\(([^)#:]+\.md)\)", page.read_text())

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_a_default_is_what_the_page_would_set() -> None:
    """Writing the default of a page into a file changes nothing: it reads as the same value."""
    for _, builder in PAGES:
        for field in dataclasses.fields(builder.arguments) if builder.arguments else ():
            if isinstance(field.default, (bool, int, float, Fraction)):
                assert convert(type(field.default), written(field.default)) == field.default
