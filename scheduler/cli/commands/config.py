"""`pyroclast config check FILE`: every fault of a configuration file, and what looks like a mistake."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from pyroclast.framework.diagnosis.lint import Finding, Severity, check
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.file_errors import why
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Check a file; status 0 when the scheduler would take it as it stands, 1 when it would not."""
    given = _parser().parse_args(arguments)
    try:
        text = sys.stdin.read() if given.file == "-" else Path(given.file).read_text(encoding="utf-8")
        registry = load_registry(given.plugins_dir)
    except (OSError, UnicodeDecodeError) as error:
        return _tell(given.file, [Finding(Severity.FAULT, given.file, why(error))])
    except ConfigError as error:
        return _tell(given.file, [Finding.of_sentence(Severity.FAULT, fault) for fault in error.faults])
    # Read as it stands all the same: what a strict scheduler refuses has more to say than why.
    warned = Severity.FAULT if given.strict else Severity.WARNING
    read = partial(read_configuration, registry=registry)
    return _tell(given.file, check(text, read, warned=warned, skipped=Severity.FAULT))


def _tell(file: str, findings: Iterable[Finding]) -> int:
    """Print what was found, each once, and what it comes to."""
    told = list(dict.fromkeys(findings))
    for finding in told:
        where = f"{finding.path}: " if finding.path else ""
        print(f"{finding.severity}: {where}{finding.message}")  # noqa: T201 - what the command is for
    counts = Counter(finding.severity for finding in told)
    total = ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts.items())
    print(f"{file}: {_verdict(counts)}{f': {total}' if total else ''}")  # noqa: T201 - as above
    return int(counts[Severity.FAULT] > 0)


def _verdict(counts: Mapping[Severity, int]) -> str:
    if counts[Severity.FAULT]:
        return "refused"
    return "accepted" if counts[Severity.WARNING] else "good"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pyroclast config", description="Look a configuration file over.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("check", help="tell every fault of a file, and what looks like a mistake")
    one.add_argument(
        "file", metavar="FILE", help="configuration, or manifests with ConfigMaps and Queues; - reads standard input"
    )
    one.add_argument("--strict", action="store_true", help="warnings are faults, as for the scheduler's --strict")
    one.add_argument("--plugins-dir", default="", metavar="DIR", help="folder of plugins that the file may name")
    return parser
