"""Claimants of kept places: only jobs that can get them are looked at."""

from pyroclast.framework.reservations.giving_way import MOST_CLAIMANTS, claimants
from pyroclast.testing import Scenario, open_session


def test_only_jobs_of_higher_priority_are_looked_at() -> None:
    """Thousands of waiting jobs that cannot get the places cost nothing."""
    scenario = Scenario().node("n1", cpu=1)
    for value in range(4):
        scenario = scenario.priority_class(f"p{value}", value)
    for number in range(MOST_CLAIMANTS + 40):
        scenario = scenario.job(f"j{number:03}", cpu=1, priority_class=f"p{number % 4}", phase="Inqueue")
    session = open_session(scenario, plugins=("gang", "priority", "predicates"))

    found = claimants(session, above=1)

    jobs = [each.job for each in found]
    assert {job.priority for job in jobs} == {2, 3}
    assert [job.priority for job in jobs] == sorted((job.priority for job in jobs), reverse=True)
    assert len(session.jobs.known()) == (MOST_CLAIMANTS + 40) // 2
