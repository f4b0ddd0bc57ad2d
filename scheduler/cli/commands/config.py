"""`pyroclast config check FILE`: report the faults and likely mistakes of a configuration file."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyroclast.framework.configuration import Parsed
from pyroclast.framework.diagnosis.lint import Finding, Severity, check
from pyroclast.framework.extension.declarations import declared
from pyroclast.framework.extension.registry import Registry
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.file_errors import why
from pyroclast.scheduler.daemon.settings import read_configuration, unreachable_profiles, with_profiles_for
from pyroclast.scheduler.registry import load_registry

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Check a file. Return 0 if the scheduler accepts the file as it is, otherwise 1."""
    given = _parser().parse_args(arguments)
    try:
        text = sys.stdin.read() if given.file == "-" else Path(given.file).read_text(encoding="utf-8")
        registry = load_registry(given.plugins_dir)
    except (OSError, UnicodeDecodeError) as error:
        return _print_findings(given.file, [Finding(Severity.FAULT, given.file, why(error))])
    except ConfigError as error:
        return _print_findings(given.file, [Finding.of_sentence(Severity.FAULT, fault) for fault in error.faults])
    # Read the file without --strict, so that a file with warnings is still checked to its end.
    warned = Severity.FAULT if given.strict else Severity.WARNING
    read = partial(_read, registry=registry)
    findings = check(text, read, warned=warned, skipped=Severity.FAULT)
    if given.scheduler_name:
        findings += _unserved(text, read, given.scheduler_name, warned)
    return _print_findings(given.file, findings)


def _read(text: str | Mapping[str, Any], registry: Registry) -> Parsed:
    """Read a configuration, and what its plugins declare."""
    parsed = read_configuration(text, registry)
    declared(parsed.configuration, registry)
    return parsed


def _unserved(
    text: str, read: Callable[[str], Parsed], scheduler_names: Sequence[str], warned: Severity
) -> list[Finding]:
    """Return the names without a profile, and the profiles that no name reaches."""
    try:
        configuration = read(text).configuration
        with_profiles_for(configuration, scheduler_names)
    except ConfigError as error:
        return [Finding.of_sentence(Severity.FAULT, fault) for fault in error.faults]
    return [
        Finding(warned, "profiles", _unreachable(names))
        for names in unreachable_profiles(configuration, scheduler_names)
    ]


def _unreachable(names: Sequence[str]) -> str:
    if not names:
        return "the top of the file is the profile of no --scheduler-name, so it schedules no pod"
    return f"no --scheduler-name is {' or '.join(map(repr, names))}, so this profile schedules no pod"


def _print_findings(file: str, findings: Iterable[Finding]) -> int:
    """Print each finding once, and then a summary."""
    unique = list(dict.fromkeys(findings))
    for finding in unique:
        where = f"{finding.path}: " if finding.path else ""
        print(f"{finding.severity}: {where}{finding.message}")  # noqa: T201 - what the command is for
    counts = Counter(finding.severity for finding in unique)
    total = ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts.items())
    print(f"{file}: {_verdict(counts)}{f': {total}' if total else ''}")  # noqa: T201 - as above
    return int(counts[Severity.FAULT] > 0)


def _verdict(counts: Mapping[Severity, int]) -> str:
    if counts[Severity.FAULT]:
        return "refused"
    return "accepted" if counts[Severity.WARNING] else "good"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pyroclast config", description="Check a configuration file.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("check", help="report the faults and likely mistakes of a file")
    one.add_argument(
        "file",
        metavar="FILE",
        help="configuration file, or manifests with ConfigMaps and Queues; - reads standard input",
    )
    one.add_argument("--strict", action="store_true", help="treat warnings as faults, as the scheduler's --strict does")
    one.add_argument(
        "--scheduler-name",
        action="append",
        metavar="NAME",
        help="--scheduler-name of the scheduler, repeatable; reports profiles that these names do not reach",
    )
    one.add_argument("--plugins-dir", default="", metavar="DIR", help="folder of additional plugins")
    return parser
