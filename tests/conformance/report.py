"""`make conformance`: how the decision tables fare, by family, and each disagreement with a short difference."""

import sys
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance.cases import exceptions, registry, tables, upstream_folder
from tests.conformance.judge import answer, broken, differences

LINES_SHOWN = 6


def main() -> int:
    """Print the report; status 1 when a case that is not excepted disagrees."""
    if not upstream_folder().is_dir():
        print(f"{upstream_folder()} is not there: the cases of Volcano's own tests are left out")  # noqa: T201
    counts: Counter[tuple[str, str]] = Counter()
    awaited: Counter[str] = Counter()
    failing: list[str] = []
    for table in tables():
        missing = table.awaits(registry())
        if missing:
            counts[table.file, "later"] += 1
            awaited[", ".join(missing)] += 1
            continue
        answered = answer(table)
        laws, unlike = broken(table, answered), differences(table, answered)
        if laws or (unlike and table.id not in exceptions()):
            counts[table.file, "failing"] += 1
            faults = [*(f"LAW {law}" for law in laws), *unlike]
            more = [f"… {len(faults) - LINES_SHOWN} more"] if len(faults) > LINES_SHOWN else []
            failing += [f"\n{table.id}", *(f"    {fault}" for fault in [*faults[:LINES_SHOWN], *more])]
        else:
            counts[table.file, "excepted" if unlike else "agree"] += 1
    _show(counts, awaited)
    print("\n".join(failing))  # noqa: T201 - what the script is for
    return int(bool(failing))


def _show(counts: Counter[tuple[str, str]], awaited: Counter[str]) -> None:
    columns = ("agree", "excepted", "failing", "later")
    print(f"{'family':<24}" + "".join(f"{column:>10}" for column in columns))  # noqa: T201
    for family in sorted({family for family, _ in counts}):
        print(f"{family:<24}" + "".join(f"{counts[family, column]:>10}" for column in columns))  # noqa: T201
    totals = [sum(count for (_, kind), count in counts.items() if kind == column) for column in columns]
    print(f"{'total':<24}" + "".join(f"{total:>10}" for total in totals))  # noqa: T201
    for missing, number in sorted(awaited.items()):
        print(f"later: {number} await {missing}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
