"""Numbers of docs/explain/fairness.md that no plugin's own test has."""

from pyroclast.testing import Scenario

PLUGINS = ("gang", "drf", "predicates")
CLUSTER = (
    Scenario()
    .node("n", cpu=9, memory="18G")
    .job("a", tasks=5, min_available=1, cpu=1, memory="4G")
    .job("b", tasks=5, min_available=1, cpu=3, memory="1G")
)


def placed(outcome_of: dict[str, str], job: str) -> int:
    """Count the pods of a job that have a node."""
    return sum(pod.startswith(f"{job}-") for pod in outcome_of)


def test_dominant_shares_are_evened_out() -> None:
    """Three pods that are hungry for memory, two that are hungry for CPU: two thirds each."""
    outcome = CLUSTER.run("allocate", plugins=PLUGINS)

    assert (placed(outcome.bindings, "a"), placed(outcome.bindings, "b")) == (3, 2)
    shares = {job: (each.resource, round(each.share * 9)) for job, each in outcome.report.shares.items()}
    assert shares == {"default/a": ("memory", 6), "default/b": ("cpu", 6)}


def test_turns_alternate_by_share() -> None:
    """A, B, A, B, A: the order of the plans."""
    plans = CLUSTER.run("allocate", plugins=PLUGINS).report.plans

    assert [str(plan.job)[-1] for plan in plans] == ["a", "b", "a", "b", "a"]
