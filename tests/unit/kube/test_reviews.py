"""Reviews of callers: who is let in, and how often the API server is asked."""

from typing import Any

import pytest

from pyroclast.kube.api.reviews import Access, Reviews
from tests.unit.kube.world import FakeClock


class Server:
    """Knows one token, of an account that may get one path."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def request_json(self, method: str, path: str, *, body: Any) -> Any:
        """Answer a review."""
        assert (method, path.rpartition("/")[2]) == ("POST", f"{body['kind'].lower()}s")
        self.asked.append(body["kind"])
        spec = body["spec"]
        if body["kind"] == "TokenReview":
            if spec["token"] != "good":
                return {"status": {"authenticated": False, "error": "no such token"}}
            return {"status": {"authenticated": True, "user": {"username": "scraper", "groups": ["monitoring"]}}}
        assert (spec["user"], spec["groups"]) == ("scraper", ["monitoring"])
        return {"status": {"allowed": spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}}}


@pytest.fixture
def server() -> Server:
    """An API server."""
    return Server()


@pytest.mark.parametrize(
    ("token", "path", "expected"),
    [
        ("good", "/metrics", Access.GRANTED),
        ("good", "/debug/snapshot", Access.FORBIDDEN),
        ("bad", "/metrics", Access.UNKNOWN),
        ("", "/metrics", Access.UNKNOWN),
    ],
)
async def test_callers_are_judged(server: Server, token: str, path: str, expected: Access) -> None:
    """A known account with the right comes in; no token is not even asked about."""
    reviews = Reviews(server)  # type: ignore[arg-type]  # answers the one call that is made

    assert await reviews.judge(token, path) is expected
    assert bool(server.asked) == bool(token)


async def test_an_answer_is_believed_for_a_moment(server: Server) -> None:
    """A scraper costs two requests a minute, and a right that is taken away ends within it."""
    clock = FakeClock()
    reviews = Reviews(server, clock=clock, keep_seconds=60.0)  # type: ignore[arg-type]  # as above
    for _ in range(3):
        await reviews.judge("good", "/metrics")
    assert server.asked == ["TokenReview", "SubjectAccessReview"]

    clock.now += 61.0
    await reviews.judge("good", "/metrics")
    assert len(server.asked) == 4


async def test_strangers_do_not_fill_the_memory(server: Server) -> None:
    """However many tokens are tried, a bounded number of answers is kept."""
    reviews = Reviews(server)  # type: ignore[arg-type]  # as above
    for number in range(3000):
        await reviews.judge(f"bad-{number}", "/metrics")

    assert len(reviews._known) <= 1024  # what is bounded has no other face
