"""The definitions in `config/crd/` on the emulator and on a real server: the same words, cell for cell.

Every expectation is exact and stands once, so that the two servers cannot agree with the test and not with each other.
"""

import json

import pytest

from tests.e2e.cluster import Cluster, KubectlError

SERVED_KINDS = {
    "commands.bus.volcano.sh",
    "cronjobs.batch.volcano.sh",
    "hypernodes.topology.volcano.sh",
    "jobflows.flow.volcano.sh",
    "jobs.batch.volcano.sh",
    "jobtemplates.flow.volcano.sh",
    "nodeshards.shard.volcano.sh",
    "numatopologies.nodeinfo.volcano.sh",
    "podgroups.scheduling.volcano.sh",
    "queues.scheduling.volcano.sh",
}


def queue(name: str, spec: str = "{}") -> str:
    """Return the manifest of a queue; `spec` is YAML on one line."""
    head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"
    return f"{head}metadata: {{name: {name}}}\nspec: {spec}\n"


def pod_group(name: str, spec: str = "{}", status: str = "{}") -> str:
    """Return the manifest of a pod group in the default namespace; `spec` and `status` are YAML on one line."""
    head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n"
    return f"{head}metadata: {{name: {name}}}\nspec: {spec}\nstatus: {status}\n"


def hyper_node(name: str, spec: str) -> str:
    """Return the manifest of a HyperNode; `spec` is YAML on one line."""
    head = "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\n"
    return f"{head}metadata: {{name: {name}}}\nspec: {spec}\n"


def rows(table: str) -> list[list[str]]:
    """Split what `kubectl get` prints into cells; empty cells do not show."""
    return [line.split() for line in table.splitlines()]


def refusal(cluster: Cluster, *arguments: str, manifest: str | None = None) -> str:
    """Return what kubectl says of a request that must be refused."""
    with pytest.raises(KubectlError) as refused:
        cluster.kubectl(*arguments, input=manifest)
    return str(refused.value)


def fields(cluster: Cluster, resource: str, name: str, paths: str) -> str:
    """Return fields of an object, as JSONPath prints them."""
    return cluster.kubectl("get", resource, name, "-o", f"jsonpath={paths}")


def test_every_definition_is_served(cluster_with_crds: Cluster) -> None:
    """Discovery lists each kind as soon as its definition is established."""
    resources = cluster_with_crds.kubectl("api-resources", "-o", "name").split()

    assert {name for name in resources if name.endswith(".volcano.sh")} == SERVED_KINDS


def test_no_definition_is_complained_about(cluster_with_crds: Cluster) -> None:
    """Names are accepted, and no condition says that a schema is not structural."""
    definitions = json.loads(cluster_with_crds.kubectl("get", "crd", "-o", "json"))["items"]

    conditions = {
        (condition["type"], condition["status"])
        for definition in definitions
        if definition["metadata"]["name"] in SERVED_KINDS
        for condition in definition["status"]["conditions"]
    }
    assert conditions == {("NamesAccepted", "True"), ("Established", "True")}


def test_queue_columns(cluster_with_crds: Cluster) -> None:
    """`kubectl get q` shows the parent."""
    cluster_with_crds.apply(queue("columns-queue", "{parent: root}"))

    assert rows(cluster_with_crds.kubectl("get", "q", "columns-queue")) == [
        ["NAME", "PARENT"],
        ["columns-queue", "root"],
    ]


def test_pod_group_columns(cluster_with_crds: Cluster) -> None:
    """`kubectl get pg` shows phase, gang size and running members; the queue shows when asked for wide output."""
    cluster_with_crds.apply(
        pod_group("columns-group", "{minMember: 3, queue: research}", "{phase: Running, running: 2}")
    )

    head, cells = rows(cluster_with_crds.kubectl("get", "pg", "columns-group"))
    assert head == ["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"]
    assert cells[:4] == ["columns-group", "Running", "3", "2"]

    wide_head, wide_cells = rows(cluster_with_crds.kubectl("get", "pg", "columns-group", "-o", "wide"))
    assert wide_head == [*head, "QUEUE"]
    assert wide_cells[-1] == "research"


def test_queue_defaults(cluster_with_crds: Cluster) -> None:
    """A queue that says nothing weighs 1 and lets others pass a blocked head."""
    cluster_with_crds.apply(queue("defaults-queue"))

    spec = json.loads(fields(cluster_with_crds, "queue", "defaults-queue", "{.spec}"))
    assert spec == {"weight": 1, "dequeueStrategy": "traverse"}


def test_pod_group_defaults(cluster_with_crds: Cluster) -> None:
    """A gang goes to the default queue; defaults inside an object come with the object, not without."""
    cluster_with_crds.apply(pod_group("defaults-group", "{networkTopology: {}, subGroupPolicy: [{name: racks}]}"))

    spec = json.loads(fields(cluster_with_crds, "pg", "defaults-group", "{.spec}"))
    assert spec == {
        "queue": "default",
        "networkTopology": {"mode": "hard"},
        "subGroupPolicy": [{"name": "racks", "minSubGroups": 0, "subGroupSize": 1}],
    }


QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
PHASES = '"Pending", "Running", "Unknown", "Inqueue", "Completed"'

RULES_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)

REFUSALS = {
    "weight 0": (
        queue("bad", "{weight: 0}"),
        "spec.weight: Invalid value: 0: spec.weight in body should be greater than or equal to 1",
    ),
    "weight beyond its range": (
        queue("bad", "{weight: 65536}"),
        "spec.weight: Invalid value: 65536: spec.weight in body should be less than or equal to 65535",
    ),
    "weight in quotes": (
        queue("bad", '{weight: "5"}'),
        'spec.weight: Invalid value: "string": spec.weight in body must be of type integer: "string"',
    ),
    "unknown strategy": (
        queue("bad", "{dequeueStrategy: lifo}"),
        'spec.dequeueStrategy: Unsupported value: "lifo": supported values: "fifo", "traverse"',
    ),
    "capability that is no quantity": (
        queue("bad", "{capability: {cpu: many}}"),
        f"spec.capability.cpu: Invalid value: \"many\": spec.capability.cpu in body should match '{QUANTITY}'",
    ),
    "parent that is no name": (
        queue("bad", "{parent: Not_A_Name}"),
        f"spec.parent: Invalid value: \"Not_A_Name\": spec.parent in body should match '{NAME}'",
    ),
    "unknown phase": (
        pod_group("bad", status="{phase: Sleeping}"),
        f'status.phase: Unsupported value: "Sleeping": supported values: {PHASES}',
    ),
    "negative gang": (
        pod_group("bad", "{minMember: -1}"),
        "spec.minMember: Invalid value: -1: spec.minMember in body should be greater than or equal to 0",
    ),
    "HyperNode without members": (
        hyper_node("bad", "{tier: 1, members: []}"),
        "spec.members: Invalid value: 0: spec.members in body should have at least 1 items",
    ),
    "HyperNode without tier": (
        hyper_node("bad", "{members: [{type: Node, selector: {exactMatch: {name: node-1}}}]}"),
        f"\n* spec.tier: Required value\n* <nil>: Invalid value: null: {RULES_NOT_CHECKED}",
    ),
}
"""What is wrong → an object that has it wrong, and how the server says so."""


@pytest.mark.parametrize("case", REFUSALS)
def test_bad_objects_are_refused(cluster_with_crds: Cluster, case: str) -> None:
    """A value that the schema forbids is refused at the door, in the API server's words."""
    manifest, fault = REFUSALS[case]

    head, _, rest = refusal(cluster_with_crds, "create", "-f", "-", manifest=manifest).partition(" is invalid: ")

    assert head in {'The Queue "bad"', 'The PodGroup "bad"', 'The HyperNode "bad"'}
    if cluster_with_crds.kind == "emulator":  # which has no rules that it could leave out
        fault = fault.replace(f"\n* <nil>: Invalid value: null: {RULES_NOT_CHECKED}", "").removeprefix("\n* ")
    assert rest == fault


def test_a_misspelt_field_is_refused(cluster_with_crds: Cluster) -> None:
    """A field that no schema knows stops the request, for kubectl asks for strict decoding."""
    assert refusal(cluster_with_crds, "create", "-f", "-", manifest=queue("bad", "{wieght: 3}")) == (
        'Error from server (BadRequest): error when creating "STDIN": Queue in version "v1beta1" cannot be '
        'handled as a Queue: strict decoding error: unknown field "spec.wieght"'
    )


def test_all_faults_of_an_object_are_named_at_once(cluster_with_crds: Cluster) -> None:
    """Two bad fields give two lines; their order is the server's own."""
    manifest = pod_group("bad", "{minMember: -1, networkTopology: {mode: firm}}")

    head, *faults = refusal(cluster_with_crds, "create", "-f", "-", manifest=manifest).splitlines()

    assert head.strip() == 'The PodGroup "bad" is invalid:'
    assert sorted(faults) == [
        "* spec.minMember: Invalid value: -1: spec.minMember in body should be greater than or equal to 0",
        '* spec.networkTopology.mode: Unsupported value: "firm": supported values: "hard", "soft"',
    ]


@pytest.mark.parametrize(
    ("selector", "fault"),
    [
        ("{}", "one of exactMatch, regexMatch and labelMatch must be given"),
        (
            "{exactMatch: {name: node-1}, regexMatch: {pattern: node-.*}}",
            "only one of exactMatch, regexMatch and labelMatch may be given",
        ),
    ],
)
def test_a_hyper_node_selects_in_exactly_one_way(cluster_with_crds: Cluster, selector: str, fault: str) -> None:
    """No match and two matches in one selector are refused, by rules in CEL, which the emulator does not read."""
    if cluster_with_crds.kind == "emulator":
        pytest.skip("the emulator does not read rules in CEL")
    manifest = hyper_node("bad", f"{{tier: 1, members: [{{type: Node, selector: {selector}}}]}}")

    message = refusal(cluster_with_crds, "create", "-f", "-", manifest=manifest)

    assert message == f'The HyperNode "bad" is invalid: spec.members[0].selector: Invalid value: {fault}'


def test_queue_status_is_apart(cluster_with_crds: Cluster) -> None:
    """A queue's status is written through its subresource alone, and nothing else is written there."""
    everything = '{"spec": {"weight": 7}, "status": {"state": "Closed"}}'
    cluster_with_crds.apply(queue("status-queue") + "status: {state: Open}\n")

    def weight_state_generation() -> str:
        return fields(
            cluster_with_crds, "queue", "status-queue", "{.spec.weight}/{.status.state}/{.metadata.generation}"
        )

    assert weight_state_generation() == "1//1"
    cluster_with_crds.kubectl("patch", "queue", "status-queue", "--type=merge", "-p", everything)
    assert weight_state_generation() == "7//2"
    cluster_with_crds.kubectl(
        "patch", "queue", "status-queue", "--subresource=status", "--type=merge", "-p", everything.replace("7", "9")
    )
    assert weight_state_generation() == "7/Closed/2"


def test_a_bad_queue_status_is_refused(cluster_with_crds: Cluster) -> None:
    """The schema holds on the subresource too."""
    cluster_with_crds.apply(queue("bad-status-queue"))
    ajar = ("--subresource=status", "--type=merge", "-p", '{"status": {"state": "Ajar"}}')

    assert refusal(cluster_with_crds, "patch", "queue", "bad-status-queue", *ajar) == (
        'The Queue "bad-status-queue" is invalid: status.state: Unsupported value: "Ajar": '
        'supported values: "Open", "Closed", "Closing", "Unknown"'
    )


def test_pod_group_status_is_part_of_the_object(cluster_with_crds: Cluster) -> None:
    """A pod group has no status subresource: a plain write changes both, and counts as a new generation."""
    cluster_with_crds.apply(pod_group("status-group", "{minMember: 3}", "{phase: Pending}"))
    inqueue = ("--type=merge", "-p", '{"status": {"phase": "Inqueue"}}')

    assert refusal(cluster_with_crds, "patch", "pg", "status-group", "--subresource=status", *inqueue) == (
        'Error from server (NotFound): podgroups.scheduling.volcano.sh "status-group" not found'
    )
    cluster_with_crds.kubectl("patch", "pg", "status-group", *inqueue)
    assert fields(cluster_with_crds, "pg", "status-group", "{.status.phase}/{.metadata.generation}") == "Inqueue/2"


def test_pod_templates_are_kept_as_written(cluster_with_crds: Cluster) -> None:
    """What a job says of its pods reaches the controller whole, fields that the schema does not know included."""
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}], "fieldOfNextYear": {"deep": [1]}}}
    cluster_with_crds.apply(
        json.dumps(
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "metadata": {"name": "template-job"},
                "spec": {"tasks": [{"name": "work", "replicas": 1, "template": template}]},
            }
        )
    )

    assert json.loads(fields(cluster_with_crds, "vj", "template-job", "{.spec.tasks[0].template}")) == template


def test_explain_describes_the_fields(cluster_with_crds: Cluster) -> None:
    """`kubectl explain` gives the description of a field."""
    explained = cluster_with_crds.kubectl("explain", "queue.spec.weight")

    assert "FIELD: weight <integer>" in explained
    assert "Weight of the queue when spare resources are divided among its siblings." in explained


def test_explain_lists_the_tasks_of_a_job(cluster_with_crds: Cluster) -> None:
    """What stands in a list is explained as well, and the short name of the kind will do."""
    explained = " ".join(cluster_with_crds.kubectl("explain", "vcjob.spec.tasks").split())

    assert "FIELD: tasks <[]Object>" in explained
    assert "Groups of equal pods of the job." in explained
    assert "minAvailable <integer> Pods of this task that must be able to run together; by default all its" in explained
    assert "template <Object> Pod template, as in every Kubernetes workload." in explained
