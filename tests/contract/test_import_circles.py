"""No module of the product imports itself by way of others."""

from pathlib import Path

from tests.contract.import_circles import circles, imports_of

ROOT = Path(__file__).parents[2]


def test_there_is_no_circle_of_imports() -> None:
    """In the whole tree, imports for the type checker and those inside functions included."""
    imports = imports_of(ROOT)

    assert "framework.session.session" in imports["framework.cycle"]
    assert circles(imports) == []


def test_a_circle_is_found() -> None:
    """Modules that reach each other, however long the way; a module that only reaches them is no part of a circle."""
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set()}

    assert circles(imports) == [["a", "b", "c"]]


def test_an_import_of_a_name_is_one_of_its_module(tmp_path: Path) -> None:
    """Whether it is written `from a import b`, for a module or a name in it, or `import a.b`."""
    files = {
        "one/__init__.py": "",
        "one/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from one.c import Name\n",
        "one/c.py": "def ask():\n    from one import d\n",
        "one/d.py": "import one.b\nimport json\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    found = imports_of(tmp_path, ("one",))

    assert found == {"one": set(), "one.b": {"one.c"}, "one.c": {"one.d"}, "one.d": {"one.b"}}
