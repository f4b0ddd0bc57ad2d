"""A group with a minimum of 0 runs while its pods run: nothing has completed when they were handed to binding."""

from pyroclast.testing import Scenario


def test_it_is_admitted_then_runs() -> None:
    """`Inqueue` in the cycle that binds its pods, `Running` when they are seen there, and from then on."""
    outcome = (
        Scenario()
        .node("n")
        .job("free", tasks=2, min_available=0)
        .run("enqueue", "allocate", "backfill", plugins=("gang", "predicates"), cycles=3)
    )

    assert outcome.bindings == {"free-0": "n", "free-1": "n"}
    assert [list(each.report.phases.values()) for each in outcome.rounds] == [["Inqueue"], ["Running"], ["Running"]]


def test_it_is_completed_when_its_pods_have_finished() -> None:
    """And pending while it has none."""
    scenario = (
        Scenario()
        .node("n")
        .job("done", tasks=0, min_available=0, phase="Running")
        .job("none", tasks=0, phase="Running")
    )
    outcome = scenario.pod("done-0", job="done", node="n", phase="Succeeded").run("allocate", plugins=("gang",))

    assert outcome.phases == {"done": "Completed", "none": "Pending"}
