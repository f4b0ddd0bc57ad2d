"""What outsiders may import changes only on purpose."""

import pyroclast
import pyroclast.testing
from tests.contract.public_face import RECORD, face


def test_public_face_is_as_recorded() -> None:
    """A changed name, signature or extension point is noticed: `python tests/contract/public_face.py` records it."""
    assert face() == RECORD.read_text(encoding="utf-8")


def test_nothing_else_is_public() -> None:
    """Every public name of the package stands in its list; submodules of the package apart."""
    public = {name for name in vars(pyroclast) if not name.startswith("_")} - {"testing"}

    assert public == set(pyroclast.__all__)


def test_everything_public_says_what_it_is_for() -> None:
    """Classes and functions have docstrings."""
    undocumented = [
        name
        for module in (pyroclast, pyroclast.testing)
        for name in module.__all__
        if callable(getattr(module, name)) and not (getattr(module, name).__doc__ or "").strip()
    ]

    assert undocumented == []
