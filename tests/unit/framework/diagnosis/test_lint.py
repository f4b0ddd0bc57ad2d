"""Advice about configurations that can be used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.configuration import FLAGS, Parsed, parse
from pyroclast.framework.diagnosis.lint import Severity, check, lint, lint_queue
from pyroclast.framework.diagnosis.lint.arguments import NODE_ORDER_WEIGHTS
from pyroclast.framework.extension.served import ALWAYS_ASKED, EVICTABLE, HIERARCHICAL, NAMES_NO_VICTIMS, SERVED

ACTIONS = ["allocate", "backfill", "enqueue", "gangpreempt", "gangreclaim", "preempt", "reclaim", "shuffle"]
DEFAULT = Path(__file__).parents[4] / "config" / "scheduler.yaml"
SOUND = "{name: priority}, {name: gang}, {name: conformance}, {name: predicates}, {name: proportion}"


def read(text: str | Mapping[str, Any]) -> Parsed:
    """Parse with every plugin known, and one from outside."""
    return parse(text, known_plugins=[*SERVED, "outside"], known_actions=ACTIONS)


def found(actions: str, plugins: str, rest: str = "") -> list[str]:
    """What lint says of actions and plugins, as `severity path: message`."""
    parsed = read(f"actions: {actions}\ntiers: [{{plugins: [{plugins}]}}]\n{rest}")
    return [f"{finding.severity} {finding.path}: {finding.message}" for finding in lint(parsed)]


def test_the_built_in_default_is_sound() -> None:
    """Nothing to say of it."""
    assert check(DEFAULT.read_text(), read) == []


def test_every_flag_of_the_table_is_one() -> None:
    """A slip there would call sound flags useless."""
    assert {flag for flags in SERVED.values() for flag in flags} <= set(FLAGS)
    assert set(SERVED) >= ALWAYS_ASKED | EVICTABLE | HIERARCHICAL | NAMES_NO_VICTIMS


@pytest.mark.parametrize(
    ("actions", "plugins", "finding"),
    [
        ("enqueue, backfill", SOUND, "warning actions: no allocate"),
        ("enqueue, allocate", "{name: gang}", "warning actions: pods are placed without the plugin predicates"),
        ("enqueue, allocate", "{name: predicates}", "warning actions: pods are placed without the plugin gang"),
        (
            "enqueue, allocate",
            "{name: gang, enableJobReady: false}, {name: predicates}",
            "warning actions: pods are placed without the plugin gang",
        ),
        ("allocate", SOUND, "note actions: no enqueue: allocate admits every pod group at once"),
        (
            "allocate",
            SOUND + ", {name: overcommit}",
            "warning actions: overcommit (tiers[0].plugins[5]) has no effect without the action enqueue",
        ),
        ("allocate, enqueue", SOUND, "note actions: enqueue comes after allocate"),
        (
            "enqueue, allocate, preempt",
            "{name: gang, enablePreemptable: false}, {name: predicates}",
            "warning actions: preempt does nothing: no plugin names victims with enablePreemptable on (cdp, conf",
        ),
        (
            "enqueue, allocate, preempt",
            "{name: gang, enableJobStarving: false}, {name: predicates}",
            "warning actions: preempt does nothing: no plugin reports starving jobs with enableJobStarving on",
        ),
        (
            "enqueue, allocate, reclaim",
            "{name: gang, enableReclaimable: false}, {name: predicates}, {name: priority}, {name: drf}",
            "warning actions: reclaim does nothing: no plugin names victims with enableReclaimable on",
        ),
        (
            "enqueue, allocate, reclaim",
            "{name: gang}, {name: predicates}",
            "warning actions: reclaim without capacity or proportion: queues have no deserved resources",
        ),
        (
            "enqueue, allocate, gangpreempt",
            "{name: drf}, {name: predicates}",
            "warning actions: gangpreempt does nothing: no plugin names victims for it",
        ),
        (
            "enqueue, allocate, gangpreempt",
            SOUND,
            "note actions: without the plugin network-topology-aware groups with a hard network topology are refused",
        ),
        (
            "enqueue, allocate, shuffle",
            SOUND,
            "warning actions: shuffle does nothing: no plugin names pods to evict with enabledVictim on",
        ),
    ],
)
def test_actions_that_lack_something_are_named(actions: str, plugins: str, finding: str) -> None:
    """An action without its plugin, a plugin without its action."""
    assert any(each.startswith(finding) for each in found(actions, plugins)), found(actions, plugins)


@pytest.mark.parametrize(
    "actions",
    ["enqueue, allocate, backfill", "enqueue, allocate, preempt, reclaim, backfill"],
)
def test_a_sound_configuration_has_no_findings(actions: str) -> None:
    """The usual plugins satisfy the usual actions."""
    assert found(actions, SOUND) == []


def test_a_tree_of_fair_shares_says_what_queues_deserve() -> None:
    """With its hierarchy drf names victims between queues, and neither capacity nor proportion is missed."""
    plugins = SOUND.replace("{name: proportion}", "{name: drf, enableHierarchy: true}")

    assert found("enqueue, allocate, reclaim, backfill", plugins) == []


def test_a_plugin_from_outside_may_serve_anything() -> None:
    """What it does is unknown, so nothing is missed."""
    assert found("enqueue, allocate, preempt, reclaim, shuffle", "{name: outside, enableBestNode: false}") == []


@pytest.mark.parametrize(
    ("plugin", "finding"),
    [
        (
            "{name: binpack, enableHierarchy: true}",
            ".enableHierarchy: has no effect: only capacity, drf",
        ),
        ("{name: binpack, enableJobOrder: false}", ".enableJobOrder: has no effect: binpack is never called there"),
        ("{name: binpack, enabledClusterOrder: true}", ".enabledClusterOrder: has no effect: binpack is never called"),
        ("{name: binpack, enableNodeOrder: false}", ": every extension point of binpack is disabled"),
        (
            "{name: capacity, arguments: {ancestorReclaimLevel: 1}}",
            ".arguments.ancestorReclaimLevel: has no effect: without enableHierarchy queues have no ancestors",
        ),
        (
            "{name: binpack, arguments: {binpack.weight: '0'}}",
            ".arguments.binpack.weight: 0 disables the scores of binpack",
        ),
        (
            "{name: binpack, arguments: {binpack.resources: 'a, b', binpack.resources.c: 1}}",
            ".arguments.binpack.resources.c: has no effect, binpack.resources does not list 'c'",
        ),
        (
            f"{{name: nodeorder, arguments: {{{', '.join(f'{key}: 0' for key in NODE_ORDER_WEIGHTS)}}}}}",
            ".arguments: every weight is 0: nodeorder scores nothing",
        ),
        ("{name: tdm}", ".arguments: no tdm.revocable-zone.<zone>"),
        (
            "{name: predicates, instance: again, arguments: {predicate.CacheEnable: true}}",
            ".arguments.predicate.CacheEnable: has no effect: verdicts of nodes are always kept true",
        ),
    ],
)
def test_flags_and_arguments_without_effect_are_named(plugin: str, finding: str) -> None:
    """With the path of the key."""
    (only,) = found("enqueue, allocate", f"{SOUND}, {plugin}")

    assert only.startswith(f"warning tiers[0].plugins[5]{finding}")


def test_a_list_of_resources_that_is_none_is_not_looked_into() -> None:
    """The reader of the configuration warns of it, and keeps the default."""
    assert found("enqueue, allocate", f"{SOUND}, {{name: binpack, arguments: {{binpack.resources: 5}}}}") == []


@pytest.mark.parametrize(
    "plugin",
    [
        "{name: gang, enableJobOrder: false}",
        "{name: drf, enableHierarchy: true}, {name: gang}",
        "{name: capacity, enableHierarchy: true}, {name: gang}",
        "{name: binpack, arguments: {binpack.weight: x, binpack.resources: [c], binpack.resources.c: 1}}, {name: gang}",
        "{name: nodeorder, arguments: {leastrequested.weight: 0}}, {name: gang}",
    ],
)
def test_flags_and_arguments_with_effect_are_not(plugin: str) -> None:
    """Switching off what is served, and weights that count."""
    assert found("enqueue, allocate", f"{plugin}, {{name: predicates}}") == []


def test_arguments_of_an_action_that_does_not_run_are_named() -> None:
    """Except allocate's, which the gang actions read."""
    rest = "configurations: [{name: backfill, arguments: {a: 1}}, {name: allocate, arguments: {a: 1}}]"

    assert [each for each in found("enqueue, gangpreempt", SOUND, rest) if "configurations" in each] == [
        "warning configurations.backfill: has no effect: backfill is not among the actions"
    ]


def test_arguments_that_an_action_does_not_read_are_named() -> None:
    """Those that are accepted because Volcano has them; others are not."""
    arguments = "{enableTopologyAwarePreemption: true, topologyAwarePreemptWorkerNum: 4}"
    rest = f"configurations: [{{name: preempt, arguments: {arguments}}}]"

    (only,) = (each for each in found("enqueue, allocate, preempt", SOUND, rest) if "configurations" in each)

    path = "configurations.preempt.arguments.topologyAwarePreemptWorkerNum"
    assert only == f"warning {path}: has no effect: nodes are compared in one thread"


def test_findings_of_profiles_say_whose_they_are() -> None:
    """Each profile is looked over by itself, what they share once."""
    text = f"""
actions: enqueue, allocate
tiers: [{{plugins: [{SOUND}, {{name: binpack, enableJobOrder: false}}]}}]
profiles: [{{schedulerName: batch, actions: allocate}}]
"""
    assert [finding.path for finding in lint(read(text))] == ["actions (batch)", "tiers[0].plugins[5].enableJobOrder"]


def test_warnings_of_the_parser_are_not_repeated() -> None:
    """One finding a path."""
    text = f"actions: enqueue, allocate\ntiers: [{{plugins: [{SOUND}, {{name: binpack, enabledJobOrder: false}}]}}]"

    assert [finding.path for finding in check(text, read)] == [
        "tiers[0].plugins[5].enabledJobOrder",
        "tiers[0].plugins[5].enableJobOrder",
    ]


def test_faults_and_warnings_of_a_file_are_findings() -> None:
    """All faults of an unusable file are reported."""
    findings = check("actions: alocate\ntiers: [{plugins: [{name: gangg}]}]", read)

    assert [(finding.severity, finding.path) for finding in findings] == [
        (Severity.FAULT, "actions[0]"),
        (Severity.WARNING, "tiers[0].plugins[0].name"),
    ]


@pytest.mark.parametrize("text", ["", "a: [", "5", "- 1", "a: 1\na: 2", "kind: Queue\n---\n5"])
def test_a_file_that_is_none_is_a_fault(text: str) -> None:
    """Whatever stands there."""
    assert [finding.severity for finding in check(text, read)] == [Severity.FAULT]


def test_manifests_are_looked_into() -> None:
    """Configurations in ConfigMaps, and queues, also in lists; other kinds are named and passed over."""
    text = """
kind: List
items:
  - kind: Queue
    metadata: {name: q}
    spec: {capability: {cpu: 0}}
  - kind: Pod
---
kind: ConfigMap
data:
  good.conf: "actions: enqueue, allocate\\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]"
  bad.conf: "actions: enqueu"
  empty.conf: ""
"""
    assert [str(finding.path) for finding in check(text, read)] == [
        "Queue q.spec.capability.cpu",
        "kind",
        "data[bad.conf]: actions[0]",
        "data[bad.conf]: tiers",
        "data[empty.conf]: the configuration",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("actions: allocate\n---\nactions: enqueue\n", "the configuration: more than one YAML document"),
        (
            "actions: allocate\n---\nkind: Queue\nmetadata: {name: q}\n",
            "a configuration must be the only document of its file",
        ),
        ("kind: Queue\nmetadata: {name: q}\n---\n[actions]\n", "a configuration must be the only document of its file"),
    ],
)
def test_a_configuration_beside_other_documents_is_a_fault(text: str, fault: str) -> None:
    """A scheduler that is given the file refuses it, so it is not called good."""
    (only,) = (finding for finding in check(text, read) if finding.severity is Severity.FAULT)

    assert f"{only.path}: {only.message}".endswith(fault)


def test_empty_documents_beside_a_configuration_say_nothing() -> None:
    """A last `---` is no second document."""
    text = "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]\n"

    assert check(f"---\n{text}---\n", read) == check(text, read)


def of_manifests(text: str) -> list[str]:
    """Return what is said of manifests, as `severity path: message`."""
    return [f"{finding.severity} {finding.path}: {finding.message}" for finding in check(text, read)]


NOTHING = "fault : no configuration: expected actions and tiers, a ConfigMap that holds them, or Queues"


@pytest.mark.parametrize(
    ("manifest", "about"),
    [
        ("{kind: Pod}", "note kind: 'Pod' is ignored"),
        ("{kind: Anything, spec: {x: 1}}", "note kind: 'Anything' is ignored"),
        ("{kind: Queues}", "warning kind: 'Queues' is ignored (did you mean 'Queue'?)"),
        (
            "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue}",
            (
                "warning kind: 'ClusterQueue' is an object of Kueue; queues of this scheduler are of kind Queue in "
                "scheduling.volcano.sh"
            ),
        ),
        (
            "{apiVersion: scheduling.run.ai/v2, kind: Queue, spec: {parentQueue: a}}",
            (
                "warning kind: 'Queue' is an object of KAI; queues of this scheduler are of kind Queue in "
                "scheduling.volcano.sh"
            ),
        ),
    ],
)
def test_a_file_without_a_configuration_is_refused(manifest: str, about: str) -> None:
    """Whatever else it holds."""
    assert of_manifests(manifest) == [about, NOTHING]


def test_a_config_map_without_a_configuration_is_refused() -> None:
    """Its entries are of other programs."""
    assert of_manifests("kind: ConfigMap\ndata: {other.yaml: 'a: 1'}")[-1] == NOTHING


def test_a_configuration_with_a_kind_is_read_as_one() -> None:
    """As the scheduler reads it; the kind is a key without effect."""
    told = of_manifests("{kind: Whatever, actions: enque}")

    assert "warning kind: unknown key, it has no effect" in told
    assert told[0].startswith("fault actions[0]: unknown action 'enque'")


def test_names_of_plugins_that_do_not_exist_are_of_a_severity_of_their_own() -> None:
    """A daemon skips them; a file that is checked should not name them."""
    text = "actions: allocate\ntiers: [{plugins: [{name: gagn}, {name: gang, foo: 1}, {name: predicates}]}]"
    found = [(each.path, each.severity) for each in check(text, read, skipped=Severity.FAULT)]

    assert ("tiers[0].plugins[0].name", Severity.FAULT) in found
    assert ("tiers[0].plugins[1].foo", Severity.WARNING) in found


def queues(**parents: str) -> str:
    """Write manifests of queues by the parents that they name."""
    return "\n---\n".join(
        f"{{kind: Queue, metadata: {{name: {name}}}, spec: {{parent: {parent}}}}}" for name, parent in parents.items()
    )


def test_parents_of_queues_are_looked_up_in_the_file() -> None:
    """The root needs no manifest; a parent that is not there may be in the cluster."""
    assert of_manifests(queues(a="root", b="a", c="''")) == []
    assert of_manifests(queues(a="missing")) == [
        (
            "warning Queue a.spec.parent: 'missing' is not in this file; if it is not in the cluster either, "
            "this queue and those below it are ignored"
        )
    ]


def test_queues_that_are_their_own_ancestors_are_faults() -> None:
    """Each queue of the circle is named, with the circle; queues below it are not."""
    assert of_manifests(queues(a="b", b="c", c="a", d="a", e="e")) == [
        "fault Queue a.spec.parent: is its own ancestor: a → b → c → a",
        "fault Queue b.spec.parent: is its own ancestor: b → c → a → b",
        "fault Queue c.spec.parent: is its own ancestor: c → a → b → c",
        "fault Queue e.spec.parent: is its own ancestor: e → e",
    ]
    assert of_manifests(queues(root="a", a="root")) == [
        "fault Queue root.spec.parent: got 'a', but root is the root queue",
        "fault Queue a.spec.parent: is its own ancestor: a → root → a",
    ]


def test_parents_of_elastic_quotas_are_looked_up_too() -> None:
    """They stand in a label."""
    quota = "{{kind: ElasticQuota, metadata: {{name: {}, labels: {{quota.scheduling.koordinator.sh/parent: {}}}}}}}"
    told = of_manifests("\n---\n".join((quota.format("a", "b"), quota.format("b", "a"), quota.format("c", "gone"))))

    assert [line.partition(": ")[0] for line in told] == [
        f"{severity} ElasticQuota {name}.metadata.labels[quota.scheduling.koordinator.sh/parent]"
        for severity, name in (("fault", "a"), ("fault", "b"), ("warning", "c"))
    ]


def of_config_map(text: str) -> list[str]:
    """Return what is said of a ConfigMap, as `severity path: message`, but for the lack of a configuration in it."""
    return [line for line in of_manifests(f"kind: ConfigMap\n{text}") if line != NOTHING]


def test_unread_keys_of_a_config_map_are_reported() -> None:
    """A misspelt `data` leaves the scheduler without its configuration."""
    assert of_config_map("dat: {volcano-scheduler.conf: x}") == [
        "warning dat: unknown key, it has no effect (did you mean 'data'?)",
        "warning data: no entries: there is no configuration in this ConfigMap",
    ]
    assert of_config_map("data: [x]") == ["fault data: got ['x'], expected texts by key"]


def test_a_misspelt_entry_of_a_config_map_is_reported() -> None:
    """The flag names a file by the entry's key."""
    first, *_ = of_config_map("data: {volcano-schedular.conf: 'actions: enqueue, allocate'}")

    assert first.startswith("warning data[volcano-schedular.conf]: --scheduler-conf must name the file of this key")
    assert first.endswith("(did you mean 'volcano-scheduler.conf'?)")


def test_an_entry_that_is_no_text_is_a_fault() -> None:
    """The API server would refuse it."""
    (only,) = of_config_map("data: {volcano-scheduler.conf: {actions: allocate}}")

    assert only.startswith("fault data[volcano-scheduler.conf]: got {'actions': 'allocate'}, expected a text")


def test_entries_of_other_programs_are_passed_over() -> None:
    """Volcano's admission has its file in a ConfigMap too."""
    assert of_config_map("data: {volcano-admission.conf: 'resourceGroups: []'}") == [
        "note data[volcano-admission.conf]: ignored: it has neither actions nor tiers"
    ]


def test_a_misspelt_kind_is_reported() -> None:
    """Nothing would read it."""
    assert of_manifests("kind: Configmap") == [
        "warning kind: 'Configmap' is ignored (did you mean 'ConfigMap'?)",
        NOTHING,
    ]


@pytest.mark.parametrize(
    ("spec", "severity", "part"),
    [
        ({"capability": {"cpu": "0"}}, Severity.WARNING, "0 sets no limit on cpu"),
        ({"capability": {"memory": 0}}, Severity.WARNING, "0 sets no limit on memory"),
        ({"capability": {"nvidia.com/gpu": "0"}}, Severity.WARNING, "0 forbids nvidia.com/gpu"),
        ({"capability": {"cpu": "x"}}, Severity.FAULT, "got 'x'"),
        ({"guarantee": {"resource": {"cpu": "x"}}}, Severity.FAULT, "got 'x'"),
        ({"deserved": {"cpu": None}}, Severity.FAULT, "got None"),
    ],
)
def test_queues_that_mean_something_else(spec: dict[str, Any], severity: Severity, part: str) -> None:
    """A capability of 0 is unlimited for cpu and memory, a ban for others; what is no quantity is a fault."""
    (finding,) = lint_queue({"metadata": {"name": "q"}, "spec": spec})

    assert finding.severity is severity
    assert part in finding.message


@pytest.mark.parametrize(
    "queue", [{}, {"spec": 5}, {"spec": {"capability": []}}, {"spec": {"guarantee": {"resource": 1}}}]
)
def test_queues_of_another_shape_are_left_to_the_api_server(queue: dict[str, Any]) -> None:
    """Nothing stumbles."""
    assert list(lint_queue(queue)) == []
