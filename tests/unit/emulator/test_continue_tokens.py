"""Continue tokens: whatever a client sends is a page or a refusal."""

import base64
import contextlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyroclast.emulator.statuses import ApiError
from pyroclast.emulator.storage.continue_tokens import read_continue, write_continue

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["v", "rv", "start", "V", "x"]), inner, max_size=4)
    ),
    max_leaves=6,
)


def token(text: str) -> str:
    """Return base64 without padding."""
    return base64.urlsafe_b64encode(text.encode(errors="replace")).decode().rstrip("=")


@given(st.text(max_size=12) | JSON.map(json.dumps).map(token) | st.text('{}[]",:1evrstar\\u', max_size=12).map(token))
@example(token('{"v":"meta.k8s.io/v1","rv":' + "1" * 5000 + ',"start":"a"}'))
def test_whatever_comes_is_a_page_or_a_refusal(given_token: str) -> None:
    """Nothing makes the reader stumble."""
    with contextlib.suppress(ApiError):
        revision, start = read_continue(given_token, "")
        assert revision
        assert start


@pytest.mark.parametrize(("namespace", "key"), [("", "/node"), ("", "ns/pod"), ("ns", "ns/pod")])
def test_a_token_is_read_as_the_very_next_key(namespace: str, key: str) -> None:
    """Paths of cluster-wide objects without the slash before them."""
    assert read_continue(write_continue(7, key, namespace), namespace) == (7, f"{key.removeprefix('/')}\0")
