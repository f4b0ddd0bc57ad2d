"""Annotations of elastic quotas that hold text no parser can read."""

import pytest

from pyroclast.model import wire
from pyroclast.model.elastic.names import NAMESPACES
from pyroclast.model.elastic.quota import faults_in, listed_namespaces


@pytest.mark.parametrize("text", ['["\ud800"]', "[" * 100_000, "[1]"], ids=["half a surrogate pair", "nested", "type"])
def test_a_list_of_namespaces_that_cannot_be_read_is_a_fault(text: str) -> None:
    """The quota is read without it."""
    quota = wire.ElasticQuota(metadata=wire.ObjectMeta(name="a", namespace="n", annotations={NAMESPACES: text}))

    assert listed_namespaces(quota) == ()
    assert [each.path for each in faults_in(quota)] == [f"metadata.annotations.{NAMESPACES}"]
