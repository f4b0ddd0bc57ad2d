"""Keys of labels and annotations."""

import pytest

from pyroclast.model.label_keys import is_annotation_key, is_label_key


@pytest.mark.parametrize("key", ["a", "A.b_c-9", "x" * 63, "example.com/a", f"{'a' * 253}/b"])
def test_valid_keys(key: str) -> None:
    """With and without a prefix, up to the longest."""
    assert is_label_key(key)
    assert is_annotation_key(key)


@pytest.mark.parametrize("key", ["", "a b", "-a", "a-", "a/", "/a", "a/b/c", "x" * 64, f"{'a' * 254}/b", "é", "a\n"])
def test_invalid_keys(key: str) -> None:
    """Which the API server refuses."""
    assert not is_label_key(key)
    assert not is_annotation_key(key)


def test_annotations_may_have_capitals_in_the_prefix() -> None:
    """As in Kubernetes."""
    assert is_annotation_key("Example.com/a")
    assert not is_label_key("Example.com/a")
