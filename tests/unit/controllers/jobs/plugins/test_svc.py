"""Plugin svc: names of pods in the network, and what the names of Jobs must be for that."""

import pytest

from pyroclast.controllers.admission.rules.names import is_dns_label
from pyroclast.controllers.jobs.plugins.plugin import OwnedKey
from pyroclast.controllers.jobs.plugins.registry import plugin_faults, plugins_of
from pyroclast.model.api.batch import Job
from tests.unit.controllers.jobs.plugins.objects import env, job, pod, regular, task

TWO = (task("ps"), task("worker-a", 2))


def test_pods_have_names_in_the_network() -> None:
    """The pod's name is its hostname, the job's its subdomain."""
    spec = pod(job(*TWO, plugins={"svc": []}), "worker-a", 1)["spec"]

    assert (spec["hostname"], spec["subdomain"]) == ("train-worker-a-1", "train")


def test_names_of_the_template_hold() -> None:
    """A hostname and a subdomain that the template gives stay."""
    spec = pod(job(task("ps", hostname="one", subdomain="net"), plugins={"svc": []}), "ps")["spec"]

    assert (spec["hostname"], spec["subdomain"]) == ("one", "net")


def test_all_containers_have_all_hosts() -> None:
    """Variables point into the ConfigMap, which is mounted too, in init containers as well."""
    of = job(task("ps", initContainers=[{"name": "init"}]), TWO[1], plugins={"svc": []})
    spec = pod(of, "ps")["spec"]

    assert spec["volumes"] == [{"name": "train-svc", "configMap": {"name": "train-svc"}}]
    for container in (*spec["containers"], *spec["initContainers"]):
        assert list(env(container)) == ["VC_PS_HOSTS", "VC_PS_NUM", "VC_WORKER_A_HOSTS", "VC_WORKER_A_NUM"]
        assert env(container)["VC_PS_HOSTS"] == {"configMapKeyRef": {"name": "train-svc", "key": "VC_PS_HOSTS"}}
        assert container["volumeMounts"] == [{"name": "train-svc", "mountPath": "/etc/volcano"}]


def test_variables_can_be_left_out() -> None:
    """Very many hosts do not fit into an environment; the file is there all the same."""
    container = regular(pod(job(*TWO, plugins={"svc": ["--inject-hosts-env=false"]}), "ps"))

    assert env(container) == {}
    assert container["volumeMounts"]


def test_the_config_map_lists_hosts_by_task() -> None:
    """One a line in a file, joined by commas in a variable, and their number."""
    of = job(*TWO, plugins={"svc": []})
    (plugin,) = plugins_of(of)
    config_map, _, _ = plugin.objects(of, {})

    assert config_map.is_kept_true
    assert config_map.manifest["data"] == {
        "ps.host": "train-ps-0.train",
        "VC_PS_HOSTS": "train-ps-0.train",
        "VC_PS_NUM": "1",
        "worker_a.host": "train-worker-a-0.train\ntrain-worker-a-1.train",
        "VC_WORKER_A_HOSTS": "train-worker-a-0.train,train-worker-a-1.train",
        "VC_WORKER_A_NUM": "2",
    }


def test_a_common_hostname_is_one_host() -> None:
    """Pods that share a hostname cannot be distinguished by it."""
    of = job(task("ps", 3, hostname="one"), plugins={"svc": []})
    (plugin,) = plugins_of(of)

    assert plugin.objects(of, {})[0].manifest["data"]["VC_PS_HOSTS"] == "one.train"
    assert plugin.objects(of, {})[0].manifest["data"]["VC_PS_NUM"] == "1"


def test_the_service_has_no_address() -> None:
    """It makes names of the job's pods, ready or not when asked so."""
    of = job(*TWO, plugins={"svc": ["--publish-not-ready-addresses"]})
    (plugin,) = plugins_of(of)
    _, service, _ = plugin.objects(of, {})

    assert service.key == OwnedKey("Service", "train")
    assert service.manifest["spec"] == {
        "clusterIP": "None",
        "selector": {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "team"},
        "publishNotReadyAddresses": True,
    }
    assert service.manifest["metadata"]["ownerReferences"][0]["uid"] == "u"


def test_only_the_jobs_pods_may_come_in() -> None:
    """The policy selects the job's pods and lets them in alone."""
    of = job(*TWO, plugins={"svc": []})
    (plugin,) = plugins_of(of)
    selector = {"matchLabels": {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "team"}}

    assert plugin.objects(of, {})[2].manifest["spec"] == {
        "podSelector": selector,
        "ingress": [{"from": [{"podSelector": selector}]}],
        "policyTypes": ["Ingress"],
    }


def test_the_policy_can_be_switched_off() -> None:
    """Then neither is it made nor named among what is deleted."""
    of = job(*TWO, plugins={"svc": ["--disable-network-policy=true"]})
    (plugin,) = plugins_of(of)
    expected = [OwnedKey("ConfigMap", "train-svc"), OwnedKey("Service", "train")]

    assert list(plugin.keys(of)) == expected
    assert [owned.key for owned in plugin.objects(of, {})] == expected


@pytest.mark.parametrize(
    ("of", "faults"),
    [
        (job(task("ps"), plugins={"svc": []}), []),
        (job(task("ps", 10), name="j" * 58, plugins={"svc": []}), []),
        (job(task("ps", 11), name="j" * 58, plugins={"svc": []}), ["spec.tasks[0].name"]),
        (job(task("ps", 11, hostname="one"), name="j" * 58, plugins={"svc": []}), []),
        (job(task("ps"), name="a.b", plugins={"svc": []}), ["metadata.name"]),
        (job(task("ps"), name="a.b", plugins={"env": [], "ssh": []}), []),
        (job(task("head"), name="j" * 54, plugins={"ray": []}), []),
        (job(task("head"), name="j" * 55, plugins={"ray": []}), ["metadata.name"]),
    ],
)
def test_services_and_hosts_have_names_of_their_own_kind(of: Job, faults: list[str]) -> None:
    """A Job's name may be longer, and have dots: then no pod is made, and the field at fault is named."""
    assert [fault.path for fault in plugin_faults(of) if fault.is_fatal] == faults


@pytest.mark.parametrize("name", ["a.b", "j" * 60, "j" * 60 + ".k"])
def test_volumes_have_names_whatever_the_job_is_called(name: str) -> None:
    """The name of a volume is a DNS label; that of its Secret need not be."""
    spec = pod(job(task("ps"), name=name, plugins={"ssh": []}), "ps")["spec"]
    (volume,) = spec["volumes"]

    assert is_dns_label(volume["name"])
    assert volume["secret"]["secretName"] == f"{name}-ssh"
    assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == [volume["name"]]
