"""Clusters in a few lines, for tests of plugins and of scheduling.

    from pyroclast.testing import Scenario

    ONE_NODE = Scenario().queue("research").node("n1", cpu=8, gpu=2)

    def test_gang_binds_nothing_while_one_member_lacks_room() -> None:
        outcome = ONE_NODE.job("train", queue="research", tasks=3, cpu=1, gpu=1).run(
            "allocate", plugins=("gang", "predicates")
        )

        assert outcome.bindings == {}
        assert "Insufficient nvidia.com/gpu" in outcome.why("train")

`Scenario.run` runs whole cycles, by the code of the daemon; `open_session` opens a session and leaves it to the test.
"""

from pyroclast.testing.outcome import Outcome
from pyroclast.testing.scenario import Scenario
from pyroclast.testing.session import open_session

__all__ = ["Outcome", "Scenario", "open_session"]
