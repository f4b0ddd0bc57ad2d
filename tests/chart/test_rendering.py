"""The chart, rendered: what every install gets, and what values change."""

import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest
import yaml

from pyroclast.controllers.hypernodes.discovery import SOURCE
from pyroclast.controllers.sharding.settings import read_settings
from pyroclast.framework.diagnosis.lint import check
from pyroclast.kube.api.resources import GANG_POD_GROUPS
from pyroclast.model.api.names import NETWORK_TOPOLOGY_SOURCE
from pyroclast.model.wire import GangPodGroupSpec, GangPodGroupStatus
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.controllers.options import parse_options as parse_controllers
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry
from tests.chart.helm import CHART, by_kind, helm, rendered

MATRIX = [
    ["size=small", "size=large"],
    ["admission.enabled=false", "admission.certManager.enabled=true", "admission.separate=true"],
    ["controllers.enabled=false", "scheduler.replicas=1"],
    ["networkPolicy.enabled=false", "networkPolicy.monitoringNamespaces={monitoring}"],
    ["metrics.serviceMonitor.enabled=true", "metrics.alerts.enabled=true"],
]


def pods_of(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the pod specs of Deployments and bare pods."""
    for each in objects:
        if each["kind"] == "Deployment":
            yield each["spec"]["template"]["spec"]
        elif each["kind"] == "Pod":
            yield each["spec"]


def webhooks(*sets: str) -> dict[str, dict[str, Any]]:
    """Return all webhooks by path."""
    found = [each for each in rendered(*sets) if each["kind"].endswith("WebhookConfiguration")]
    return {hook["clientConfig"]["service"]["path"]: hook for each in found for hook in each["webhooks"]}


def test_lint_finds_nothing() -> None:
    """`helm lint --strict` is content."""
    assert "0 chart(s) failed" in helm("lint", str(CHART), "--strict", "--kube-version", "1.36.1")


@pytest.mark.parametrize("sets", list(product(*MATRIX)), ids=",".join)
def test_values_render_in_all_combinations(sets: tuple[str, ...]) -> None:
    """Each object has a name and the release's labels; no pod runs as root or may write where it need not."""
    objects = rendered(*sets)

    for each in objects:
        assert each["metadata"]["name"]
        if "helm.sh/hook" not in each["metadata"].get("annotations", {}):
            assert each["metadata"]["labels"]["app.kubernetes.io/instance"] == "pyro"
    for pod in pods_of(objects):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]


def test_the_scheduler_takes_its_flags() -> None:
    """What the chart writes is read by the scheduler without a complaint, gates and plugins included."""
    objects = rendered(
        "scheduler.schedulerNames={volcano,batch}",
        "scheduler.featureGates.SchedulingGatesQueueAdmission=true",
        "scheduler.nodeSelectors={pool:batch}",
        "metrics.secretName=metrics",
        "metrics.authorization=true",
        "custom.scheduler_plugins_dir=/plugins",
        "custom.scheduler_plugins_volume.configMap.name=mine",
    )
    pod = by_kind(objects, "Deployment", "-scheduler")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    command, *flags = container["args"]
    options = parse_options(flags).options

    assert command == "scheduler"
    assert options.scheduler_name == ("volcano", "batch")
    assert options.metrics_authorization
    assert options.plugins_dir == "/plugins"
    assert {"name": "plugins", "configMap": {"name": "mine"}} in pod["volumes"]


def scheduler_flags(*sets: str) -> list[str]:
    """Return the flags of the scheduler's container."""
    (container,) = by_kind(rendered(*sets), "Deployment", "-scheduler")["spec"]["template"]["spec"]["containers"]
    flags: list[str] = container["args"][1:]
    return flags


def test_values_set_limits_and_debug_tables_of_the_scheduler() -> None:
    """The values reach the program in its units."""
    options = parse_options(
        scheduler_flags(
            "scheduler.schedulingTimeout=1m30s",
            "scheduler.pluginTimeBudget=0s",
            "scheduler.debugScores=64",
            "scheduler.debugFilters=true",
            "scheduler.debugDiagnosis=true",
        )
    ).options

    assert (options.scheduling_timeout, options.plugin_time_budget) == (90.0, 0.0)
    assert (options.debug_scores, options.debug_filters, options.debug_diagnosis) == (64, True, True)


def test_default_values_of_limits_and_debug_tables_are_those_of_the_program() -> None:
    """An install without values behaves as the program without flags."""
    ours, program = parse_options(scheduler_flags()).options, parse_options([]).options

    for name in ("scheduling_timeout", "plugin_time_budget", "debug_scores", "debug_filters", "debug_diagnosis"):
        assert getattr(ours, name) == getattr(program, name)


def test_extra_flags_of_earlier_installs_replace_the_values() -> None:
    """A flag in `extraArgs` comes last and counts."""
    options = parse_options(scheduler_flags("scheduler.extraArgs={--debug-scores=7,--plugin-time-budget=5s}")).options

    assert (options.debug_scores, options.plugin_time_budget) == (7, 5.0)


def test_the_controllers_take_their_flags() -> None:
    """With certificates of their own and with cert-manager's, and with all that is optional."""
    for more in ((), ("admission.certManager.enabled=true",), ("admission.enabled=false",)):
        objects = rendered("controllers.topologyDiscovery=labels", "metrics.secretName=metrics", *more)
        (container,) = by_kind(objects, "Deployment", "-controllers")["spec"]["template"]["spec"]["containers"]
        command, *flags = container["args"]
        parsed = parse_controllers(flags)

        assert command == "controllers"
        assert parsed.warnings == ()
        assert parsed.options.enable_admission is (more != ("admission.enabled=false",))


def test_what_is_added_to_a_component_is_its_own() -> None:
    """Variables, volumes and their mounts, beside what the chart has; a lease's times, one by one."""
    for name in ("scheduler", "controllers"):
        objects = rendered(
            f"{name}.extraEnv[0].name=HTTPS_PROXY",
            f"{name}.extraVolumes[0].name=more",
            f"{name}.extraVolumeMounts[0].name=more",
            f"{name}.extraVolumeMounts[0].mountPath=/more",
            f"{name}.lease.duration=40s",
        )
        changed = next(pods_of([by_kind(objects, "Deployment", f"-{name}")]))
        (container,) = changed["containers"]
        other = "controllers" if name == "scheduler" else "scheduler"
        (others,) = next(pods_of([by_kind(objects, "Deployment", f"-{other}")]))["containers"]

        assert container["env"] == [{"name": "HTTPS_PROXY"}]
        assert {"name": "more"} in changed["volumes"]
        assert {"name": "more", "mountPath": "/more"} in container["volumeMounts"]
        assert "--leader-elect-lease-duration=40s" in container["args"]
        assert "env" not in others
        assert "--leader-elect-lease-duration=15s" in others["args"]


def test_labels_and_annotations_of_yours_reach_what_they_are_for() -> None:
    """Labels every object, annotations the Services that are scraped; selectors, which cannot change, stay."""
    objects = rendered("commonLabels.team=batch", "metrics.serviceAnnotations.scrape=please", "admission.pods=true")

    for each in objects:
        if "helm.sh/hook" not in each["metadata"].get("annotations", {}):
            assert each["metadata"]["labels"]["team"] == "batch"
        if each["kind"] == "Deployment":
            assert each["spec"]["template"]["metadata"]["labels"]["team"] == "batch"
            assert "team" not in each["spec"]["selector"]["matchLabels"]
    services = {each["metadata"]["name"]: each["metadata"] for each in objects if each["kind"] == "Service"}
    annotated = {name for name, metadata in services.items() if metadata.get("annotations") == {"scrape": "please"}}
    assert annotated == {"pyro-pyroclast-scheduler", "pyro-pyroclast-controllers"}


def test_the_test_s_pod_tolerates_what_batch_work_does() -> None:
    """Where it is tried says nothing of where the scheduler runs."""
    objects = rendered("scheduler.tolerations[0].key=control", "test.tolerations[0].key=batch")
    pods = {each["metadata"]["name"]: pod for each in objects for pod in pods_of([each])}

    assert pods["pyro-pyroclast-test"]["tolerations"] == [{"key": "batch"}]
    assert pods["pyro-pyroclast-scheduler"]["tolerations"] == [{"key": "control"}]


def test_users_numbers_are_left_to_a_cluster_that_gives_them() -> None:
    """A key that is null is gone; no pod runs as root all the same."""
    for pod in pods_of(rendered("podSecurityContext.runAsUser=null", "podSecurityContext.fsGroup=null")):
        assert set(pod["securityContext"]) == {"runAsNonRoot", "runAsGroup", "seccompProfile"}


def test_rights_on_pods_include_jobs() -> None:
    """Kubernetes' roles for users are added to by the chart's kinds that have a namespace, Commands apart.

    Elastic quotas and their profiles may only be looked at.
    """
    roles = {
        each["metadata"]["name"].rpartition("-")[2]: each
        for each in rendered()
        if each["kind"] == "ClusterRole" and "aggregate" in json.dumps(each["metadata"]["labels"])
    }
    rights = {name: kinds_of(role) for name, role in roles.items()}
    definitions = [yaml.safe_load(file.read_text())["spec"] for file in (CHART / "crds").glob("*.yaml")]
    theirs = {
        (each["group"], each["names"]["plural"])
        for each in definitions
        if each["scope"] == "Namespaced" and each["names"]["plural"] != "commands"
    }

    assert set(rights) == {"edit", "view"}
    shown = {("scheduling.sigs.k8s.io", "elasticquotas"), ("quota.koordinator.sh", "elasticquotaprofiles")}
    assert {right[:2] for right in rights["edit"]} == theirs - shown
    assert {right[:2] for right in rights["view"]} > theirs
    assert {right[2] for right in rights["view"]} == {"get", "list", "watch"}
    assert not [each for each in rendered("userRoles.create=false") if "-edit" in each["metadata"]["name"]]


def kinds_of(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Return group, resource and verb of all that a role allows."""
    return {right for rule in role["rules"] for right in product(rule["apiGroups"], rule["resources"], rule["verbs"])}


def test_cards_need_rights_of_their_own() -> None:
    """None by default; one ConfigMap by its name, and annotations of nodes, each where it is asked for."""
    asked = ("scheduler.devices.configMap.read=true", "scheduler.devices.configMap.namespace=cards")
    plain, more = rendered(), rendered(*asked, "scheduler.devices.lockNodes=true")
    roles = {each["metadata"]["name"]: each for each in more if each["kind"] in {"Role", "ClusterRole"}}
    before = {each["metadata"]["name"]: each for each in plain if each["kind"] in {"Role", "ClusterRole"}}

    of_map = roles.pop("pyro-pyroclast-scheduler-devices")
    assert (of_map["kind"], of_map["metadata"]["namespace"]) == ("Role", "cards")
    assert of_map["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["volcano-vgpu-device-config"],
            "verbs": ["list", "watch"],
        }
    ]
    assert roles.keys() == before.keys()
    scheduler = "ClusterRole", "pyro-pyroclast-scheduler"
    after, without = (kinds_of(by_kind(objects, *scheduler)) for objects in (more, plain))
    assert after - without == {("", "nodes", "get"), ("", "nodes", "patch")}


def test_plugins_that_label_pods_need_a_right_of_their_own() -> None:
    """None by default."""
    plain, more = rendered(), rendered("scheduler.labelPods=true")
    after, without = (
        kinds_of(by_kind(objects, "ClusterRole", "pyro-pyroclast-scheduler")) for objects in (more, plain)
    )

    assert after - without == {("", "pods", "patch")}


def test_kinds_of_plugins_need_rules_of_their_own() -> None:
    """As written in the values."""
    rule = "scheduler.additionalRules[0]"
    values = (f"{rule}.{each}" for each in ("apiGroups={example.com}", "resources={licences}", "verbs={list,watch}"))
    plain, more = rendered(), rendered(*values)
    after, without = (
        kinds_of(by_kind(objects, "ClusterRole", "pyro-pyroclast-scheduler")) for objects in (more, plain)
    )

    assert after - without == {("example.com", "licences", "list"), ("example.com", "licences", "watch")}


def test_sharding_is_off_by_default_and_has_rights_of_its_own() -> None:
    """The settings are a ConfigMap, which the controllers may read."""
    config = "controllers.sharding.config=schedulerConfigs: [{name: volcano}]"
    plain, more = rendered(), rendered("controllers.sharding.enabled=true", config)
    after, without = (rights(objects, "pyro-pyroclast-controllers") for objects in (more, plain))
    settings = by_kind(more, "ConfigMap", "-sharding")
    flags = next(pods_of([by_kind(more, "Deployment", "-controllers")]))["containers"][0]["args"][1:]
    options = parse_controllers(flags).options

    verbs = ("get", "list", "watch", "create", "patch", "delete")
    assert after - without == {("shard.volcano.sh", "nodeshards", verb) for verb in verbs}
    assert "sharding-controller" in options.chosen
    metadata = settings["metadata"]
    assert options.of_controllers.sharding_config_map == (metadata["namespace"], metadata["name"])
    assert read_settings(settings["data"]["sharding.yaml"]).faults == ()


def rights(objects: list[dict[str, Any]], name: str) -> set[tuple[str, str, str]]:
    """Return what the roles of this name allow, wherever."""
    roles = [each for each in objects if each["kind"] in {"Role", "ClusterRole"} and each["metadata"]["name"] == name]
    return {right for role in roles for right in kinds_of(role)}


@pytest.mark.parametrize(
    ("sets", "patches"),
    [
        ((), False),
        (("SchedulingGatesQueueAdmission=true",), True),
        (("AllAlpha=true",), True),
        (("AllAlpha=true", "SchedulingGatesQueueAdmission=false"), False),
    ],
)
def test_the_scheduler_changes_pods_where_it_takes_gates_off(sets: tuple[str, ...], patches: bool) -> None:
    """Only with the gate of that feature, as the process reads it; without it nothing but status and binding."""
    objects = rendered(*(f"scheduler.featureGates.{each}" for each in sets))
    flags = next(pods_of([by_kind(objects, "Deployment", "-scheduler")]))["containers"][0]["args"][1:]

    assert parse_options(flags).options.features.enabled("SchedulingGatesQueueAdmission") is patches
    assert (("", "pods", "patch") in rights(objects, "pyro-pyroclast-scheduler")) is patches


KEYS = {("", "secrets", verb) for verb in ("get", "create", "patch", "delete")}


@pytest.mark.parametrize(
    ("sets", "namespaces"),
    [
        ((), [None]),
        (("controllers.sshKeys.enabled=false",), []),
        (("controllers.sshKeys.namespaces={team-a,team-b}",), ["team-a", "team-b"]),
        (("scheduler.featureGates.VolcanoJobSupport=false",), []),
        (("scheduler.featureGates.AllBeta=false",), []),
    ],
)
def test_secrets_of_users_are_touched_where_jobs_need_keys(sets: tuple[str, ...], namespaces: list[str | None]) -> None:
    """Everywhere, in some namespaces, or nowhere; the Secret with the webhooks' certificate is named."""
    objects = rendered(*sets)
    found = {
        each["metadata"].get("namespace"): rule
        for each in objects
        if each["kind"] in {"Role", "ClusterRole"}
        for rule in each["rules"]
        if "secrets" in rule["resources"] and each["metadata"].get("namespace") != "batch"
    }
    own = [rule for rule in by_kind(objects, "Role", "-controllers")["rules"] if "secrets" in rule["resources"]]

    assert list(found) == namespaces
    assert all(set(product(rule["apiGroups"], rule["resources"], rule["verbs"])) == KEYS for rule in found.values())
    assert [rule.get("resourceNames") for rule in own] == [None, ["pyro-pyroclast-admission"]]
    assert [rule["verbs"] for rule in own if "resourceNames" not in rule] == [["create"]]
    bound = [each["metadata"]["namespace"] for each in objects if each["metadata"]["name"].endswith("-controllers-ssh")]
    assert sorted(set(bound)) == [name for name in namespaces if name]


OF_WEBHOOKS = {
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "patch"),
    ("", "secrets", "update"),
    ("", "namespaces", "get"),
}


def test_separate_webhooks_have_their_own_rights_and_everything_that_points_to_them() -> None:
    """The controllers lose the rights of webhooks, and the webhook process has no others; it runs no reconciler."""
    objects = rendered("admission.separate=true", "admission.extraEnv[0].name=PROXY")
    deployment = by_kind(objects, "Deployment", "-admission")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    parsed = parse_controllers(container["args"][1:])
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    own, others = (rights(objects, f"pyro-pyroclast-{name}") for name in ("admission", "controllers"))

    assert parsed.warnings == ()
    assert (parsed.options.enable_admission, parsed.options.leader_elect, parsed.options.chosen) == (True, False, [])
    assert container["env"] == [{"name": "PROXY"}]
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()
    assert own >= OF_WEBHOOKS
    assert not others & OF_WEBHOOKS
    assert {verb for _, resource, verb in own if resource != "secrets"} == {"list", "watch", "get", "patch"}
    assert by_kind(objects, "Service", "-admission")["spec"]["selector"].items() <= labels
    for kind, selector in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        assert by_kind(objects, kind, "-admission")["spec"][selector]["matchLabels"].items() <= labels
    ports = [each["name"] for each in container["ports"]]
    assert "webhooks" in ports
    (old,) = by_kind(objects, "Deployment", "-controllers")["spec"]["template"]["spec"]["containers"]
    assert not parse_controllers(old["args"][1:]).options.enable_admission
    assert "webhooks" not in [each["name"] for each in old["ports"]]
    assert by_kind(rendered("admission.separate=true", "controllers.enabled=false"), "Deployment", "-admission")


@pytest.mark.parametrize("separate", ["true", "false"])
def test_clients_of_webhooks_need_a_certificate_where_an_authority_is_given(separate: str) -> None:
    """Its file is mounted in the folder that the flag names."""
    sets = ("admission.clientCA.configMap=api-ca", "admission.clientCA.names={kube-apiserver}")
    objects = rendered(f"admission.separate={separate}", *sets)
    pod = next(pods_of([by_kind(objects, "Deployment", "-admission" if separate == "true" else "-controllers")]))
    (container,) = pod["containers"]
    told = parse_controllers(container["args"][1:]).options.of_admission
    (folder,) = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "admission-clients"]

    assert (told.client_ca_file, told.client_names) == (f"{folder}/ca.crt", ("kube-apiserver",))
    assert {"name": "admission-clients", "configMap": {"name": "api-ca"}} in pod["volumes"]


def test_ports_of_metrics_and_webhooks_alone_are_open() -> None:
    """Without values all sources are allowed; with addresses of the API server, only it reaches the webhooks."""
    block = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    for sets, sources in (((), None), (("networkPolicy.apiServerCIDRs={10.0.0.1/32}",), block)):
        objects = rendered(*sets)
        scheduler, controllers = (
            by_kind(objects, "NetworkPolicy", f"-{name}")["spec"]["ingress"] for name in ("scheduler", "controllers")
        )
        assert [each["ports"] for each in scheduler] == [[{"port": "metrics"}]]
        assert [each["ports"] for each in controllers] == [[{"port": "metrics"}], [{"port": "webhooks"}]]
        assert controllers[1].get("from") == sources


def test_the_shipped_configuration_is_good() -> None:
    """`config check` finds nothing in the tiers of the ConfigMap."""
    text = by_kind(rendered(), "ConfigMap", "-scheduler")["data"]["volcano-scheduler.conf"]

    assert list(check(text, partial(read_configuration, registry=load_registry(), strict=True))) == []


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("size=huge", "size"),
        ("scheduler.replicas=0", "replicas"),
        ("scheduler.period=soon", "period"),
        ("scheduler.schedulingTimeout=30", "schedulingTimeout"),
        ("scheduler.pluginTimeBudget=-1s", "pluginTimeBudget"),
        ("scheduler.debugScores=65", "debugScores"),
        ("scheduler.debugFilters=3", "debugFilters"),
        ("scheduler.debugDiagnosis=3", "debugDiagnosis"),
        ("scheduler.nodeSelectors={pool}", "nodeSelectors"),
        ("schedular.replicas=3", "schedular"),
        ("image.digest=abc", "digest"),
        ("metrics.authorization=true", "metrics.secretName"),
        ("admission.config=resourceGroups", "admission.pods"),
        ("admission.clientCA.names={kube-apiserver}", "admission.clientCA.configMap"),
        ("networkPolicy.apiServerCIDRs={10.0.0.1}", "apiServerCIDRs"),
    ],
)
def test_a_wrong_value_is_refused_by_name(wrong: str, named: str) -> None:
    """The schema says which value is wrong, also one that is misspelt."""
    told = helm("template", "pyro", str(CHART), "--kube-version", "1.36.1", "--set", wrong, is_good=False)

    assert named in told


def test_each_value_has_a_description() -> None:
    """The schema and the values name the same things, and the schema says what each is for."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def compare(described: dict[str, Any], value: object, path: str) -> None:
        assert path == "values" or described.get("description"), path
        properties = described.get("properties")
        if properties is not None and isinstance(value, dict):
            assert set(value) <= set(properties), path
            for name, inner in value.items():
                compare(properties[name], inner, f"{path}.{name}")

    compare(schema, values, "values")


def test_cert_manager_renews_under_an_authority_that_stays() -> None:
    """The API server does not trust the renewed certificate itself: each certificate names the authority as issuer."""
    objects = rendered("admission.certManager.enabled=true")
    issuers, certificates = (
        {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == kind}
        for kind in ("Issuer", "Certificate")
    )
    leaf = certificates["pyro-pyroclast-admission"]
    authority = issuers[leaf["issuerRef"]["name"]]["ca"]["secretName"]
    (signer,) = [each for each in certificates.values() if each["secretName"] == authority]

    assert "isCA" not in leaf
    assert signer["isCA"] is True
    assert "selfSigned" in issuers[signer["issuerRef"]["name"]]
    for each in objects:
        if each["kind"].endswith("WebhookConfiguration"):
            assert each["metadata"]["annotations"] == {
                "cert-manager.io/inject-ca-from": "batch/pyro-pyroclast-admission"
            }
    given = rendered("admission.certManager.enabled=true", "admission.certManager.issuerRef.name=mine")
    assert [each["spec"]["issuerRef"] for each in given if each["kind"] == "Certificate"] == [{"name": "mine"}]


def test_one_replica_has_no_budget() -> None:
    """A budget over one copy would block every drain."""
    kinds = [each["kind"] for each in rendered("scheduler.replicas=1", "controllers.replicas=1")]

    assert "PodDisruptionBudget" not in kinds


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
def test_unanswered_custom_resources_pass_unless_configured_otherwise_and_pods_always_do(policy: str) -> None:
    """Ignore is what an install without a word gives."""
    sets = ("admission.pods=true", *(["admission.failurePolicy=Fail"] if policy == "Fail" else []))
    policies = {path: hook["failurePolicy"] for path, hook in webhooks(*sets).items()}

    assert {"/jobs/mutate", "/queues/validate", "/pods/validate"} <= set(policies)
    assert policies == {path: "Ignore" if path.startswith("/pods/") else policy for path in policies}


def test_pods_are_asked_about_on_demand() -> None:
    """A call for every pod is a price that only its users pay."""
    assert webhooks("admission.pods=true").keys() - webhooks().keys() == {"/pods/mutate", "/pods/validate"}
    assert {"/jobs/mutate", "/queues/validate"} <= webhooks().keys()


def test_gates_hold_for_all() -> None:
    """Some concern the scheduler, the controllers and admission at once: half of such a feature would be none."""
    objects = rendered("scheduler.featureGates.SchedulingGatesQueueAdmission=true")
    flags = {
        name: next(pods_of([by_kind(objects, "Deployment", f"-{name}")]))["containers"][0]["args"][1:]
        for name in ("scheduler", "controllers")
    }

    assert parse_options(flags["scheduler"]).options.features.enabled("SchedulingGatesQueueAdmission")
    assert parse_controllers(flags["controllers"]).options.of_admission.gates_pods


def test_pods_are_asked_about_where_they_are_of_these_schedulers() -> None:
    """The values name the schedulers; with resource groups, which choose the scheduler, all pods are completed."""
    sets = ("admission.pods=true", "scheduler.schedulerNames={batch,night}")
    ours = {"name": "our-schedulers", "expression": "object.spec.schedulerName in ['batch', 'night']"}
    plain, grouped = webhooks(*sets), webhooks(*sets, "admission.config=resourceGroups: []")

    assert plain["/pods/mutate"]["matchConditions"] == [ours]
    for each in (plain, grouped):
        names = [condition["name"] for condition in each["/pods/validate"]["matchConditions"]]
        assert names == ["our-schedulers", "preemptible-changed"]
        assert each["/pods/validate"]["matchConditions"][0] == ours
    assert "matchConditions" not in grouped["/pods/mutate"]


def test_resource_groups_are_mounted_where_they_are_read() -> None:
    """The file is that of the flag, its folder that of the ConfigMap; without pods they have no effect."""
    text = "resourceGroups: []"
    objects = rendered("admission.pods=true", f"admission.config={text}")
    pod = next(pods_of([by_kind(objects, "Deployment", "-controllers")]))
    (container,) = pod["containers"]
    (folder,) = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "resource-groups"]
    (source,) = [each["configMap"]["name"] for each in pod["volumes"] if each["name"] == "resource-groups"]
    ((name, content),) = by_kind(objects, "ConfigMap", source)["data"].items()

    assert parse_controllers(container["args"][1:]).options.admission_conf == f"{folder}/{name}"
    assert content == text
    assert "--admission-conf=" not in json.dumps(rendered())


def test_namespaces_are_left_alone_on_demand() -> None:
    """Beside that of the release, which always is."""
    for hook in webhooks("admission.excludedNamespaces={kube-system,vault}").values():
        (expression,) = hook["namespaceSelector"]["matchExpressions"]
        assert (expression["operator"], expression["values"]) == ("NotIn", ["batch", "kube-system", "vault"])


@pytest.mark.parametrize(
    ("sets", "leases"),
    [
        ((), {"volcano", "vc-controller-manager"}),
        (("admission.enabled=false", "controllers.lease.name=own"), {"volcano", "own"}),
        (("controllers.enabled=false", "scheduler.lease.name=own"), {"own"}),
        (("admission.certManager.enabled=true",), {"volcano", "vc-controller-manager"}),
    ],
)
def test_what_processes_make_for_themselves_goes_after_all_else(sets: tuple[str, ...], leases: set[str]) -> None:
    """Each has a hook that deletes it, holds nothing that could be written over it, and is named as flags name it.

    Secrets of certificates go also where values were others when they were made; leases of others stay.
    """
    left = leases | {"pyro-pyroclast-admission", "pyro-pyroclast-admission-ca"}
    objects = rendered(*sets)
    hooks = [each for each in objects if each["metadata"].get("annotations", {}).get("helm.sh/hook") == "post-delete"]
    named = {
        flag.partition("=")[2]
        for pod in pods_of(objects)
        for flag in pod["containers"][0]["args"]
        if flag.startswith(("--leader-elect-resource-name=", "--admission-secret="))
    }

    assert {each["metadata"]["name"] for each in hooks} == left
    assert named <= left
    for each in hooks:
        assert set(each) == {"apiVersion", "kind", "metadata"}
        assert each["metadata"]["annotations"]["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"


def test_the_notes_select_the_definitions_that_they_offer_to_remove() -> None:
    """The notes after an uninstall name each definition of the chart."""
    notes = (CHART / "templates" / "NOTES.txt").read_text()
    (selector,) = re.findall(r"kubectl delete crd -l (\S+)=", notes)
    (value,) = re.findall(rf"{re.escape(selector)}=([\w-]+)", notes)
    definitions = [yaml.safe_load(file.read_text()) for file in (CHART / "crds").glob("*.yaml")]

    assert len(definitions) >= 10
    assert {each["metadata"]["labels"][selector] for each in definitions} == {value}


def test_the_notes_name_the_domains_that_they_offer_to_remove() -> None:
    """The label that they are created with selects them."""
    notes = (CHART / "templates" / "NOTES.txt").read_text()

    assert f"kubectl delete hypernodes -l {NETWORK_TOPOLOGY_SOURCE}={SOURCE}" in notes


def test_alerts_of_controllers_go_with_them() -> None:
    """The rules are those of the file; with other controllers, the alert about missing controllers is off."""

    def alerts(*sets: str) -> list[dict[str, Any]]:
        (found,) = [each for each in rendered("metrics.alerts.enabled=true", *sets) if each["kind"] == "PrometheusRule"]
        rules: list[dict[str, Any]] = found["spec"]["groups"][0]["rules"]
        return rules

    text = (CHART / "files" / "alerts.yaml").read_text().replace("RUNBOOK/", "https://r.example/")
    every: list[dict[str, Any]] = yaml.safe_load(text)["groups"][0]["rules"]
    link = "metrics.alerts.runbookUrl=https://r.example"

    assert alerts(link) == every
    without = [each for each in every if each["alert"] != "PyroclastNoReconciler"]
    assert alerts(link, "controllers.enabled=false") == without


def test_the_definition_of_sigs_pod_groups_is_off_by_default() -> None:
    """With the value it has every field that is read or written, and stays when the release goes."""
    assert not [each for each in rendered() if each["kind"] == "CustomResourceDefinition"]

    definition = by_kind(rendered("sigsPodGroups.create=true"), "CustomResourceDefinition")
    (version,) = definition["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]
    assert definition["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert (version["name"], version["subresources"]) == (GANG_POD_GROUPS.version, {"status": {}})
    for part, struct in (("spec", GangPodGroupSpec), ("status", GangPodGroupStatus)):
        assert set(struct.__struct_encode_fields__) <= set(fields[part]["properties"])


@pytest.mark.parametrize(
    ("sets", "resources"),
    [
        ((), {"priorityclasses", "podgroups", "workloads", "podgroups/status"}),
        (("GenericWorkload",), {"priorityclasses"}),
    ],
)
def test_rights_on_native_groups_need_their_feature(sets: tuple[str, ...], resources: set[str]) -> None:
    """The gate that watches them is the gate of the rights."""
    role = by_kind(rendered(*(f"scheduler.featureGates.{gate}=false" for gate in sets)), "ClusterRole", "-scheduler")
    found = [each["resources"] for each in role["rules"] if each["apiGroups"] == ["scheduling.k8s.io"]]
    assert {name for each in found for name in each} == resources
