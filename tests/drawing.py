"""How many examples generated tests draw: few and always the same, or many fresh ones with PYROCLAST_DEEP=1."""

import os
from typing import Final

__all__ = ["IS_DEEP", "examples"]

IS_DEEP: Final = os.environ.get("PYROCLAST_DEEP") == "1"


def examples(usual: int, deep: int = 2000) -> int:
    """Return how many examples a test draws; PYROCLAST_LAW_EXAMPLES overrides both numbers.

    Args:
        usual: In `make test`.
        deep: With PYROCLAST_DEEP=1.
    """
    return int(os.environ.get("PYROCLAST_LAW_EXAMPLES", deep if IS_DEEP else usual))
