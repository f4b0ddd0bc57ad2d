"""`pyroclast config check FILE`: every fault of a configuration file, and what looks like a mistake."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from framework.configuration import Parsed
from framework.lint import lint
from model.errors import ConfigError
from scheduler.registry import load_registry
from scheduler.settings import read_configuration

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Check a file; status 0 when the scheduler would take it, 1 when it would not."""
    given = _parser().parse_args(arguments)
    try:
        text = sys.stdin.read() if given.file == "-" else Path(given.file).read_text(encoding="utf-8")
        parsed = read_configuration(text, load_registry(given.plugins_dir), strict=given.strict)
    except (OSError, UnicodeDecodeError) as error:
        return _refuse(f"{given.file}: {error}")
    except ConfigError as error:
        return _refuse(*error.faults)
    findings = [*(f"warning: {warning}" for warning in parsed.warnings), *_findings(parsed)]
    for line in dict.fromkeys(findings):
        print(line)  # noqa: T201 - what the command is for
    profiles = len(parsed.configuration.profiles)
    print(f"{given.file}: good: {profiles} profile{'s' * (profiles != 1)}, {len(set(findings))} findings")  # noqa: T201
    return 0


def _findings(parsed: Parsed) -> list[str]:
    return [f"{finding.severity}: {finding.path}: {finding.message}" for finding in lint(parsed)]


def _refuse(*faults: str) -> int:
    for fault in faults:
        print(f"fault: {fault}")  # noqa: T201 - what the command is for
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pyroclast config", description="Look a configuration file over.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="tell every fault of a file, and what looks like a mistake")
    check.add_argument("file", metavar="FILE", help="the file, or - for standard input")
    check.add_argument("--strict", action="store_true", help="warnings are faults, as for the scheduler's --strict")
    check.add_argument("--plugins-dir", default="", metavar="DIR", help="folder of plugins that the file may name")
    return parser
