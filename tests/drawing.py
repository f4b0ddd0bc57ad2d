"""How many examples generated tests draw: few and always the same, or many fresh ones with PYROCLAST_DEEP=1.

The usual run must fit into the twelve minutes that a change waits for: a few seconds for each test. The deep run is
where new faults are looked for: two thousand examples of each law and of each comparison with the plain scheduler, or
what `deep` says where one takes seconds (400 clusters that lend, 1,500 lives, 4,000 and 5,000 configurations), and in
`tests/e2e` fifty deaths of the daemon and twenty of the controllers instead of fifteen and eight. What it finds becomes
an `@example`, which the usual run draws, too.
"""

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
