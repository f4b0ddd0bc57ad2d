"""Hooks: other plugins that also decide about pods of quotas, and annotate quotas.

The argument `hookPlugins` names them. Their functions are registered at `QUOTA_CHECK` and `QUOTA_STATUS`.
"""

from collections.abc import Sequence
from typing import Any, Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point, QuotaHook, Registered
from pyroclast.framework.session.session import Session
from pyroclast.model.elastic.facts import QuotaFacts
from pyroclast.model.elastic.names import ROOT_QUOTA
from pyroclast.model.elastic.tree import QuotaAccount
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import MILLI, Amounts
from pyroclast.model.tasks import Task
from pyroclast.plugins.elastic_quota.accounts import Accounts
from pyroclast.plugins.elastic_quota.hook_plugins import HookPlugin

__all__ = ["QuotaHooks"]

_MOST_ANNOTATIONS: Final = 16
_LONGEST: Final = 4096
"""Characters of an annotation."""
_RESERVED: Final = "quota.scheduling.koordinator.sh/"


class QuotaHooks:
    """The hooks of one session. They are resolved when all plugins are opened."""

    def __init__(self, session: Session, accounts: Accounts, configured: Sequence[HookPlugin]) -> None:
        self._session = session
        self._accounts = accounts
        self._hooks = [(each, QuotaHook(key=each.key, args=each.args, quota=self.facts)) for each in configured]

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._hooks)

    def check(self, quota: str, task: Task) -> Refusal | None:
        """Return the first refusal of a task by a hook. A plugin that is missing refuses all tasks."""
        for entry, hook in self._hooks:
            functions = self._functions(contract.QUOTA_CHECK, entry)
            if not functions and not self._functions(contract.QUOTA_STATUS, entry):
                return _missing(entry)
            for each in functions:
                refusal = self._ask(each, hook, quota, task)
                if refusal is not None:
                    return refusal
        return None

    def annotations(self, quota: str) -> dict[str, str]:
        """Return the annotations of all hooks for a quota, within their bounds; the first one of a key counts."""
        found: dict[str, str] = {}
        for entry, hook in self._hooks:
            for each in self._functions(contract.QUOTA_STATUS, entry):
                texts = self._session.extensions.ask_or(each, {}, hook, quota)
                for key in sorted(texts):
                    if len(found) < _MOST_ANNOTATIONS and not key.startswith(_RESERVED):
                        found.setdefault(key, texts[key][:_LONGEST])
        return found

    def facts(self, name: str) -> QuotaFacts | None:
        """Return the facts of a quota; None if it is not served."""
        account = self._accounts.tree.root if name == ROOT_QUOTA else self._accounts.tree.accounts.get(name)
        if account is None:
            return None
        return QuotaFacts(
            name=name,
            parent="" if name == ROOT_QUOTA else ROOT_QUOTA if account.parent is None else account.parent.name,
            children=tuple(child.name for child in account.children),
            minimum=self._amounts(account, account.minimum),
            maximum=self._amounts(account, account.maximum),
            used=self._amounts(account, account.used),
            non_preemptible_used=self._amounts(account, account.unpreemptible_used),
            request=self._amounts(account, account.request),
            runtime=self._amounts(account, account.runtime),
            guaranteed=self._amounts(account, account.guaranteed),
        )

    def _amounts(self, account: QuotaAccount, amounts: Sequence[int]) -> Amounts:
        space = self._session.resources
        return {space.names[row]: amounts[row] * MILLI // space.scales[row] for row in account.rows}

    def _functions(self, point: Point[Any], entry: HookPlugin) -> list[Registered[Any]]:
        return [each for each in self._session.extensions.functions(point) if each.plugin == entry.factory]

    def _ask(self, each: Registered[Any], hook: QuotaHook, quota: str, task: Task) -> Refusal | None:
        try:
            answer = each.function(hook, quota, task)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            return self._session.extensions.note_failure(each.plugin, error)
        if answer is None or answer is True:
            return None
        if isinstance(answer, Refusal):
            return answer
        message = f"hook plugin {hook.key} does not permit the pod to use quota {quota}"
        return Refusal(plugin=each.plugin, reason="QuotaHookRefused", message=message)


def _missing(entry: HookPlugin) -> Refusal:
    message = (
        f"hook plugin {entry.key}: plugin {entry.factory} is not in the configuration, or registers no quota_check"
        " and no quota_status"
    )
    return Refusal(plugin="elastic-quota", reason="QuotaHookMissing", message=message, resolvable=False)
