"""An extender of tests: answers by verb, without any network, and notes what it is asked."""

from typing import Any

import msgspec

from pyroclast.framework.extension.outside import Answer, Question
from pyroclast.framework.session.session import Session
from pyroclast.testing import Outcome, Scenario, open_session

__all__ = ["AWAY", "URL", "Service", "arguments", "decided", "opened"]

URL = "http://extender.test/v1"
AWAY = Answer(error=": no answer: connection refused")
"""The answer of a stopped service."""


class Service:
    """Answers each verb as configured: a value, a function of the body, or an `Answer`; nothing else is known."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Any]] = []
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Answer:
        """Answer."""
        verb = question.url.removeprefix(f"{URL}/")
        body = msgspec.json.decode(question.body)
        self.asked.append((verb, body))
        self.questions.append(question)
        said = self.answers[verb]
        if callable(said):
            said = said(body)
        return said if isinstance(said, Answer) else Answer(value=said)

    def verbs(self) -> list[str]:
        """Return the verbs asked, in order."""
        return [verb for verb, _ in self.asked]

    def bodies(self, verb: str) -> list[Any]:
        """Return the bodies of one verb."""
        return [body for asked, body in self.asked if asked == verb]


def arguments(*verbs: str, **more: Any) -> dict[str, Any]:
    """Return arguments in which each verb is called by its conventional name."""
    return {
        "extender.urlPrefix": URL,
        **{f"extender.{verb}Verb": verb for verb in verbs},
        **{f"extender.{name}": value for name, value in more.items()},
    }


def opened(scenario: Scenario, service: Service, *, plugins: tuple[Any, ...] = (), **more: Any) -> Session:
    """Open a session in which the service is asked for every verb that it knows."""
    return open_session(
        scenario,
        plugins=("extender", *plugins),
        arguments={"extender": arguments(*service.answers, **more)},
        outside={"extender": service},
    )


def decided(
    scenario: Scenario, service: Service, *actions: str, plugins: tuple[Any, ...] = ("gang",), **more: Any
) -> Outcome:
    """Run a cycle in which the service is asked for every verb that it knows."""
    return scenario.run(
        *(actions or ("enqueue", "allocate", "backfill")),
        plugins=(*plugins, "extender"),
        arguments={"extender": arguments(*service.answers, **more)},
        outside={"extender": service},
    )
