"""Required rules of pods: annotations that cannot be parsed demand nothing."""

import pytest

from pyroclast.model import wire
from pyroclast.model.nodenuma.names import NUMA_SPEC
from pyroclast.model.required_rules import required_rules


@pytest.mark.parametrize("text", ["[" * 100_000, "\udc00", "{", "[]"], ids=["nested", "surrogate", "cut", "list"])
def test_a_malformed_annotation_demands_no_rule(text: str) -> None:
    """Koordinator's webhooks reject such a pod; the scheduling of other pods goes on."""
    pod = wire.Pod(metadata=wire.ObjectMeta(name="p", annotations={NUMA_SPEC: text}))

    assert required_rules(pod) == []
