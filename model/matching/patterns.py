r"""Patterns: which of many names a user's regular expression is found in, in time linear in the names' length.

Patterns are Go's, as in Volcano: RE2 has the same syntax and never backtracks, whereas with Python's `re` a pattern
such as `(a+)+$` could hold up a cycle for longer than the cluster lives. All names are searched as the lines of one
text, so that a call is made for each hit and not for each name.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

import re2

__all__ = ["Names", "PatternError", "compile_pattern", "found_in"]

_BEYOND_LINES: Final = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-?[a-zA-Z]*m")
"""Constructs that can distinguish the ends of a text from the ends of its lines."""


class PatternError(ValueError):
    """The text is not a pattern in Go's syntax, or the pattern is too large."""


class Names:
    """Names as lines of one text."""

    __slots__ = ("_starts", "text")

    def __init__(self, names: Iterable[str]) -> None:
        # No server takes a name with an end of line in it; a file of `simulate` may have one.
        lines = [name.replace("\n", "\0").encode(errors="replace") for name in names]
        self.text = b"\n".join(lines)
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        """Start of each line, and the start of one further line."""

    def __len__(self) -> int:
        return len(self._starts) - 1

    def line_at(self, position: int) -> int:
        """Return the number of the line in which a position lies."""
        return bisect_right(self._starts, position) - 1

    def start_of(self, line: int) -> int:
        """Return where a line begins."""
        return self._starts[line]

    def split(self) -> Sequence[bytes]:
        """Return the names one by one."""
        return self.text.split(b"\n") if len(self) else ()


def compile_pattern(pattern: str, *, over_lines: bool = False) -> Any:
    """Read a pattern.

    Args:
        pattern: In Go's syntax.
        over_lines: For a text of many lines, each of which counts as a text.

    Raises:
        PatternError: The text is not a pattern.
    """
    options = re2.Options()
    options.log_errors = False
    options.never_nl = over_lines
    try:
        return re2.compile(f"(?m){pattern}" if over_lines else pattern, options=options)
    except UnicodeEncodeError as error:
        raise PatternError(str(error)) from None
    except re2.error as error:
        (what,) = error.args
        raise PatternError(what.decode(errors="replace") if isinstance(what, bytes) else str(what)) from None


def found_in(pattern: str, names: Names) -> tuple[int, ...]:
    """Return the numbers of the names in which a pattern is found anywhere, ascending.

    Raises:
        PatternError: The text is not a pattern.
    """
    alone = compile_pattern(pattern)
    if _BEYOND_LINES.search(pattern):
        return tuple(number for number, name in enumerate(names.split()) if alone.search(name))
    expression = compile_pattern(pattern, over_lines=True)
    found: list[int] = []
    line = 0
    while line < len(names):
        hit = expression.search(names.text, names.start_of(line))
        if hit is None:
            break
        found.append(names.line_at(hit.start()))
        line = found[-1] + 1
    return tuple(found)
