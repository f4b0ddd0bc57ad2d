"""Binding through an extender: one call for each pod.

    {"podName", "podNamespace", "podUID", "node", "annotations"} → {"error": ""}

The field names are those of kube-scheduler's extender API. `annotations` are those of our Binding.
"""

import time
from collections.abc import Mapping

import msgspec

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension.outside import Question
from pyroclast.kube.writes.binding import DelegateError
from pyroclast.model.plan import Bind
from pyroclast.model.texts import shortened
from pyroclast.plugins.extender import Extender, ExtenderArgs
from pyroclast.scheduler.extenders.client import ExtenderClient, NoReplyError
from pyroclast.scheduler.extenders.thread_client import OnExchange, answer_of

__all__ = ["ExtenderBinding"]


class _Reply(msgspec.Struct, frozen=True, kw_only=True):
    error: str | None = None


class ExtenderBinding:
    """Binds through the extenders of the configuration in force."""

    def __init__(self, client: ExtenderClient, on_exchange: OnExchange = lambda *_: None) -> None:
        self._client, self._on_exchange = client, on_exchange
        self._args: Mapping[str, ExtenderArgs] = {}
        self._generation: int | None = None

    def follow(self, configuration: Configuration) -> None:
        """Use the extenders of this configuration."""
        if configuration.generation != self._generation:
            self._generation = configuration.generation
            self._args = {
                option.instance: decode(ExtenderArgs, option.arguments, option.path)[0]
                for profile in reversed(configuration.profiles)  # the first of equal instances counts
                for option in profile.plugins
                if option.plugin == Extender.name
            }

    async def bind(self, bind: Bind) -> bool:
        """Bind a pod. Return False if there is no reply and the extender is ignorable.

        Raises:
            DelegateError: The extender refuses, or there is no reply.
        """
        instance = str(bind.delegate)
        args = self._args.get(instance)
        if args is None or not args.bind_verb:
            raise DelegateError(f"{instance} should bind this pod, but is not configured as a binder any more")
        question = Question(
            url=args.url(args.bind_verb),
            body=msgspec.json.encode(
                {
                    "podName": bind.name,
                    "podNamespace": bind.namespace,
                    "podUID": bind.task,
                    "node": bind.node,
                    "annotations": dict(bind.annotations),
                }
            ),
            timeout_seconds=args.timeout_seconds,
        )
        begun = time.monotonic()
        failure, refusal = await self._ask(question)
        self._on_exchange(instance, args.bind_verb, not failure, time.monotonic() - begun)
        if refusal:
            raise DelegateError(f"{instance} did not bind: {refusal}")
        if failure and not args.ignorable:
            raise DelegateError(f"failed {args.bind_verb} with extender at URL {question.url}{failure}")
        return not failure

    async def _ask(self, question: Question) -> tuple[str, str]:
        """Return why there is no reply, and why the reply refuses; both are empty on success."""
        try:
            answer = answer_of(question, await self._client.post(question))
            if answer.error:
                return answer.error, ""
            return "", shortened(msgspec.convert(answer.value, _Reply).error or "")
        except NoReplyError as error:
            return str(error), ""
        except msgspec.ValidationError as error:
            return f": an answer of the wrong shape: {error}", ""
