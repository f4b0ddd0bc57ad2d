"""The rules run over a configuration, or over the text of a file as people have it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pyroclast.framework.configuration import Parsed, Profile
from pyroclast.framework.configuration.notes import UnusableError
from pyroclast.framework.configuration.text import read_yaml_documents
from pyroclast.framework.diagnosis.lint.actions import lint_actions
from pyroclast.framework.diagnosis.lint.arguments import lint_action_arguments, lint_arguments
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.framework.diagnosis.lint.flags import lint_flags
from pyroclast.framework.diagnosis.lint.laws import lint_laws
from pyroclast.framework.diagnosis.lint.manifests import check_manifests, is_manifest
from pyroclast.framework.diagnosis.lint.vetoes import lint_vetoes
from pyroclast.model.errors import ConfigError

__all__ = ["check", "lint"]


def lint(parsed: Parsed) -> list[Finding]:
    """Return the findings of a usable configuration, beyond the warnings from reading it."""
    reported = {warning.partition(": ")[0] for warning in parsed.warnings}
    found = (finding for profile in parsed.configuration.profiles for finding in _lint_profile(profile))
    return list(dict.fromkeys(finding for finding in found if finding.path not in reported))


def check(
    text: str,
    read: Callable[[str | Mapping[str, Any]], Parsed],
    *,
    warned: Severity = Severity.WARNING,
    skipped: Severity = Severity.WARNING,
) -> list[Finding]:
    """Return everything about a file: faults, warnings and notes.

    Args:
        text: A configuration; or manifests, of which each ConfigMap's entries are read as configurations, and Queues
            and ElasticQuotas are looked over.
        read: Makes a configuration of a text or of what stands in one; raises ConfigError.
        warned: What its warnings are: faults for a scheduler that is strict.
        skipped: What the name of a plugin is that does not exist.
    """
    try:
        documents = read_yaml_documents(text)
    except ConfigError as error:
        return [Finding.of_sentence(Severity.FAULT, fault) for fault in error.faults]
    one = partial(_check_configuration, read=read, warned=warned, skipped=skipped)
    return check_manifests(documents, one) if any(map(is_manifest, documents)) else one(text)


def _lint_profile(profile: Profile) -> Iterator[Finding]:
    whose = f" ({', '.join(profile.scheduler_names)})" if profile.scheduler_names else ""
    yield from lint_actions(profile, f"actions{whose}")
    yield from lint_action_arguments(profile, f"configurations{whose}")
    yield from lint_vetoes(profile)
    yield from lint_laws(profile)
    for option in (*profile.plugins, *profile.shadows):
        yield from lint_flags(option)
        yield from lint_arguments(option)
    for option in profile.shadows:
        message = f"{option.instance} is in shadow mode: its answers are compared and counted, and change no decision"
        yield Finding(Severity.NOTE, f"{option.path}.shadow", message)


def _check_configuration(
    text: str | Mapping[str, Any], read: Callable[..., Parsed], warned: Severity, skipped: Severity
) -> list[Finding]:
    try:
        parsed = read(text)
    except ConfigError as error:
        warnings = error.warnings if isinstance(error, UnusableError) else ()
        return [*_sentences(Severity.FAULT, error.faults), *_sentences(warned, warnings)]
    names = frozenset(parsed.skipped)
    skipped = warned if warned is Severity.FAULT else skipped
    reported = [Finding.of_sentence(skipped if each in names else warned, each) for each in parsed.warnings]
    return [*reported, *lint(parsed)]


def _sentences(severity: Severity, sentences: Iterable[str]) -> list[Finding]:
    return [Finding.of_sentence(severity, sentence) for sentence in sentences]
