"""The example of docs/plugins/elastic-quota.md."""

from pyroclast import Session
from pyroclast.testing import Scenario, open_session
from tests.elastic_quotas import elastic_quota, uses
from tests.unit.examples.page import assert_tells

GPU, GPUS = "nvidia.com/gpu", 100
GUARANTEED, ASKED, WEIGHTS = {"a": 40, "b": 20, "c": 20}, {"a": 80, "b": 50, "c": 5}, {"a": 60, "b": 30, "c": 10}


def opened(*, keeps: str = "") -> Session:
    """A session of that cluster; one quota may not lend."""
    scenario = Scenario().node("n", gpu=GPUS, pods=500)
    for name, least in GUARANTEED.items():
        weight = {"quota.scheduling.koordinator.sh/shared-weight": f'{{"{GPU}": {WEIGHTS[name]}}}'}
        quota = elastic_quota(
            name, least={GPU: least}, most={GPU: GPUS}, lends=name != keeps, annotations=weight, uid=name
        )
        scenario = scenario.add(quota).job(name, tasks=ASKED[name], min_available=1, cpu=None, gpu=1, labels=uses(name))
    return open_session(scenario, plugins=("elastic-quota",))


def may_have(session: Session) -> dict[str, int]:
    """What each may have, GPUs."""
    return {figures.name: figures.runtime[GPU] // 1000 for figures in session.report.quotas}


def test_the_page() -> None:
    """The division of the amounts, and the reason of a pod."""
    session = opened()
    found, kept = may_have(session), may_have(opened(keeps="c"))
    first = {name: min(GUARANTEED[name], ASKED[name]) for name in GUARANTEED}
    left = GPUS - sum(first.values())
    more = {name: found[name] - first[name] for name in found}
    job = next(job for job in session.jobs.all() if job.job.name == "b")
    with session.statement() as statement:
        tasks = session.jobs.pending_tasks(job)
        assert statement.allocate(job, tasks[: found["b"]], [0] * found["b"]) is None
        refusal = session.queues.allocatable(session.queues.by_name[job.queue], tasks[-1])
        assert refusal is not None

    assert_tells(
        "plugins/elastic-quota",
        f"A cluster of {GPUS} GPUs. Quota `a` is guaranteed {GUARANTEED['a']} and requests {ASKED['a']}, "
        f"`b` {GUARANTEED['b']} and {ASKED['b']}, `c` {GUARANTEED['c']} and {ASKED['c']}; "
        f"their weights are {WEIGHTS['a']}, {WEIGHTS['b']} and {WEIGHTS['c']}.",
        f"First they get {first['a']}, {first['b']} and {first['c']}; "
        f"of the {left} that are left `a` gets {more['a']} and `b` {more['b']}.",
        f"So `a` may have {found['a']}, `b` {found['b']} and `c` {found['c']}.",
        f"it would keep {kept['c']}, and `a` and `b` might have {kept['a']} and {kept['b']}.",
        "A pod of 1 GPU that is one too many",
        f"`{refusal.message}`",
    )
