"""What outsiders may import changes only on purpose."""

import pytest

import pyroclast
import pyroclast.testing
from pyroclast import face as public_names
from tests.contract.public_face import RECORD, face


def test_public_face_is_as_recorded() -> None:
    """A changed name, signature or extension point is noticed: `python tests/contract/public_face.py` records it."""
    assert face() == RECORD.read_text(encoding="utf-8")


def test_nothing_else_is_public() -> None:
    """Every public name of `face` stands in its list, and the package has what the list names."""
    public = {name for name in vars(public_names) if not name.startswith("_")}

    assert public == set(public_names.__all__)
    assert {name for name in public if not hasattr(pyroclast, name)} == set()


def test_a_name_that_is_not_public_is_refused() -> None:
    """The package has no other names; sub-packages are imported by their full names."""
    with pytest.raises(AttributeError, match="module 'pyroclast' has no attribute 'Sesion'"):
        _ = pyroclast.Sesion  # type: ignore[attr-defined]


def test_everything_public_says_what_it_is_for() -> None:
    """Classes and functions have docstrings."""
    undocumented = [
        name
        for module in (pyroclast, pyroclast.testing)
        for name in module.__all__
        if callable(getattr(module, name)) and not (getattr(module, name).__doc__ or "").strip()
    ]

    assert undocumented == []
