"""Which quota a pod uses, where labels count for quotas of the pod's namespace alone."""

import pytest

from pyroclast.model import wire
from pyroclast.model.elastic import DEFAULT_QUOTA, SYSTEM_QUOTA
from pyroclast.model.elastic.names import NAMESPACES
from pyroclast.model.elastic.pod_quota import Belonging
from pyroclast.model.elastic.quota import read_quota

QUOTAS = [
    read_quota(
        wire.ElasticQuota(metadata=wire.ObjectMeta(name=name, namespace=namespace, annotations=annotations)),
        lambda _: None,
    )
    for name, namespace, annotations in (
        ("own", "team", {}),
        ("lists", "quotas", {NAMESPACES: '["team"]'}),
        ("other", "rivals", {}),
    )
]


@pytest.mark.parametrize(
    ("label", "namespace", "expected"),
    [
        ("own", "team", "own"),
        ("lists", "team", "lists"),
        ("other", "team", "lists"),
        ("other", "nowhere", DEFAULT_QUOTA),
        (SYSTEM_QUOTA, "team", "lists"),
        (SYSTEM_QUOTA, "kube-system", SYSTEM_QUOTA),
        ("", "team", "lists"),
    ],
)
def test_a_label_counts_for_quotas_of_the_namespace(label: str, namespace: str, expected: str) -> None:
    """A label that does not count is passed over, as if there were none."""
    assert Belonging(QUOTAS, own_alone=True).quota_of(label, namespace) == expected


@pytest.mark.parametrize("label", ["own", "other", SYSTEM_QUOTA])
def test_any_label_counts_unless_asked(label: str) -> None:
    """As in Koordinator."""
    assert Belonging(QUOTAS).quota_of(label, "team") == label
