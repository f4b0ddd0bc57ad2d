"""`pyroclast replay FILE`: decide the cycles again that `pyroclast scheduler --record FILE` recorded."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pyroclast.scheduler.cli.file_errors import why
from pyroclast.scheduler.recording.replay import RecordError, Replayed, replay

__all__ = ["main"]

EPILOG = """\
exit status:
  0  every cycle was decided in the same way, byte for byte
  1  a cycle was decided in another way
  2  the record cannot be read
"""
CONTEXT = 120
"""Number of characters shown on each side of the first difference."""


def main(arguments: Sequence[str]) -> int:
    """Replay a record and print the first difference."""
    given = _parser().parse_args(arguments)
    cycles = busy = 0
    try:
        with Path(given.file).open("rb") as lines:
            for replayed in replay(lines, plugins_dir=given.plugins_dir):
                cycles += 1
                busy += not replayed.was_quiet
                if not replayed.is_same:
                    print(difference(replayed))  # noqa: T201 - what the command is for
                    return 1
    except (OSError, RecordError) as error:
        reason = why(error) if isinstance(error, OSError) else error
        print(f"pyroclast: {given.file}: {reason}", file=sys.stderr)  # noqa: T201 - as above
        return 2
    print(f"{cycles} cycles, {busy} of them with changes: decided again, byte for byte")  # noqa: T201 - as above
    return 0


def difference(replayed: Replayed) -> str:
    """Describe the first difference between the two reports."""
    one, other = replayed.recorded, replayed.decided
    if one == other:
        return f"cycle {replayed.cycle} has the same report, but other requests or another memory"
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(min(one, other)))
    around = slice(max(0, at - CONTEXT), at + CONTEXT)
    return "\n".join(
        [
            f"cycle {replayed.cycle} was decided in another way, first at byte {at} of its report",
            f"  recorded: {one[around].decode(errors='replace')}",
            f"  decided:  {other[around].decode(errors='replace')}",
        ]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyroclast replay",
        description="Decide the cycles of a record again, from the record alone, and compare.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="file written by `pyroclast scheduler --record FILE`")
    parser.add_argument(
        "--plugins-dir", default="", metavar="DIR", help="folder of plugins that replace those in the record"
    )
    return parser
