"""`pyroclast queue` on the emulator."""

import json

import yaml

from tests.unit.scheduler.vcctl.conftest import GROUPS, Person

QUEUES = f"{GROUPS}/queues"
PODGROUPS = f"{GROUPS}/namespaces/default/podgroups"


async def test_queues_are_listed_with_their_gangs(person: Person) -> None:
    """Gangs are counted by phase; one without a phase is pending, and one without a queue is in the default queue."""
    await person.makes(QUEUES, "Queue", "research", spec={"weight": 3, "parent": "root"})
    await person.makes(QUEUES, "Queue", "default")
    await person.makes(PODGROUPS, "PodGroup", "a", spec={"queue": "research"}, status={"phase": "Running"})
    await person.makes(PODGROUPS, "PodGroup", "b", spec={"queue": "research"}, status={"phase": "Inqueue"})
    await person.makes(PODGROUPS, "PodGroup", "c", spec={"queue": "research"})
    await person.makes(PODGROUPS, "PodGroup", "d")

    said = await person.types("queue", "list")

    assert said.table == [
        ["NAME", "WEIGHT", "STATE", "PARENT", "INQUEUE", "PENDING", "RUNNING", "UNKNOWN", "COMPLETED"],
        ["default", "1", "Open", "<none>", "0", "1", "0", "0", "0"],
        ["research", "3", "Open", "root", "1", "1", "1", "0", "0"],
    ]
    assert (said.status, said.err) == (0, "")


async def test_wide_tables_show_amounts(person: Person) -> None:
    """`-o wide` adds age, priority, and what the queue may use."""
    spec = {"capability": {"cpu": 4, "memory": "8Gi"}, "priority": 5, "reclaimable": False}
    await person.makes(QUEUES, "Queue", "research", spec=spec)

    (heads, cells) = (await person.types("queue", "get", "research", "-o", "wide")).table

    assert heads[9:] == ["AGE", "PRIORITY", "RECLAIMABLE", "CAPABILITY", "DESERVED", "GUARANTEE", "ALLOCATED"]
    assert cells[10:] == ["5", "false", "cpu=4,memory=8Gi", "<none>", "<none>", "<none>"]


async def test_headings_can_be_left_out(person: Person) -> None:
    """`--no-headers` is for scripts."""
    await person.makes(QUEUES, "Queue", "research")

    said = await person.types("queue", "list", "--no-headers")

    assert [cells[0] for cells in said.table] == ["research"]


async def test_no_queues(person: Person) -> None:
    """An empty cluster is reported beside the output, as kubectl does."""
    said = await person.types("queue", "list")

    assert (said.status, said.out, said.err) == (0, "", "No resources found")


async def test_one_queue_as_yaml(person: Person) -> None:
    """One object is printed as itself, without the record of who wrote which field."""
    await person.makes(QUEUES, "Queue", "research", spec={"weight": 3})

    found = yaml.safe_load((await person.types("queue", "get", "research", "-o", "yaml")).out)

    assert (found["kind"], found["metadata"]["name"], found["spec"]["weight"]) == ("Queue", "research", 3)
    assert "managedFields" not in found["metadata"]


async def test_all_queues_as_json(person: Person) -> None:
    """Many objects are printed as a list, none as an empty one."""
    assert json.loads((await person.types("queue", "list", "-o", "json")).out)["items"] == []
    await person.makes(QUEUES, "Queue", "research")

    found = json.loads((await person.types("queue", "list", "-o", "json")).out)

    assert found["kind"] == "List"
    assert [item["metadata"]["name"] for item in found["items"]] == ["research"]


async def test_names_alone(person: Person) -> None:
    """`-o name` can be handed to kubectl."""
    await person.makes(QUEUES, "Queue", "research")

    assert (await person.types("queue", "list", "-o", "name")).out == "queue.scheduling.volcano.sh/research"


async def test_a_name_that_is_not_there_stops_no_other(person: Person) -> None:
    """Existing objects are shown, missing ones are reported in kubectl's words, and the status shows the failure."""
    await person.makes(QUEUES, "Queue", "research")

    said = await person.types("queue", "get", "none", "research", "-o", "name")

    assert said.out == "queue.scheduling.volcano.sh/research"
    assert said.err == 'Error from server (NotFound): queues.scheduling.volcano.sh "none" not found'
    assert said.status == 1


async def test_a_queue_is_made(person: Person) -> None:
    """Flags become fields of its spec; what is not said is left to the server's defaults."""
    said = await person.types(
        *("queue", "create", "research", "--weight", "3", "--parent", "root", "--capability", "cpu=4,memory=8Gi"),
        *("--guarantee", "cpu=1", "--priority", "2", "--no-reclaimable", "--dequeue-strategy", "fifo"),
    )

    assert said.out == "queue.scheduling.volcano.sh/research created"
    assert (await person.reads(f"{QUEUES}/research"))["spec"] == {
        "weight": 3,
        "parent": "root",
        "capability": {"cpu": "4", "memory": "8Gi"},
        "guarantee": {"resource": {"cpu": "1"}},
        "priority": 2,
        "reclaimable": False,
        "dequeueStrategy": "fifo",
    }


async def test_a_refusal_of_the_server_is_shown_field_by_field(person: Person) -> None:
    """Several faults make a list, one stands on the line, as with kubectl."""
    several = await person.types("queue", "create", "bad", "--weight", "0", "--priority=-1")
    one = await person.types("queue", "create", "bad", "--weight", "0")

    fault = "spec.weight: Invalid value: 0: spec.weight in body should be greater than or equal to 1"
    head, *faults = several.err.splitlines()
    assert head == 'The Queue "bad" is invalid: '
    assert sorted(faults) == [
        "* spec.priority: Invalid value: -1: spec.priority in body should be greater than or equal to 0",
        f"* {fault}",
    ]
    assert (one.err, one.status) == (f'The Queue "bad" is invalid: {fault}', 1)


async def test_closing_is_a_command_to_the_controllers(person: Person) -> None:
    """A Command that the queue owns asks for it, in the namespace that Volcano's command line uses."""
    queue = await person.makes(QUEUES, "Queue", "research")

    said = await person.types("queue", "close", "research")

    (command,) = (await person.reads("/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"))["items"]
    owner = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "name": "research",
        "uid": queue["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert said.out == "queue.scheduling.volcano.sh/research close requested"
    assert command["metadata"]["name"].startswith("research-closequeue-")
    assert (command["action"], command["target"]) == ("CloseQueue", owner)
    assert command["metadata"]["ownerReferences"] == [owner]


async def test_opening_is_the_other_command(person: Person) -> None:
    """Both words ask by the same kind."""
    await person.makes(QUEUES, "Queue", "research")

    await person.types("queue", "open", "research")

    (command,) = (await person.reads("/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"))["items"]
    assert command["action"] == "OpenQueue"


async def test_a_queue_is_deleted(person: Person) -> None:
    """The name may also be given as a flag."""
    await person.makes(QUEUES, "Queue", "research")

    said = await person.types("queue", "delete", "--name", "research")

    assert said.out == 'queue.scheduling.volcano.sh "research" deleted'
    assert (await person.reads(QUEUES))["items"] == []


async def test_a_name_is_needed(person: Person) -> None:
    """A command that would act on nothing is a fault of the command line."""
    said = await person.types("queue", "close")

    assert said.status == 2
    assert said.err.endswith("error: the name of a queue is needed")


async def test_a_cluster_without_our_kinds(person: Person) -> None:
    """Without the definitions the error names what is missing."""
    await person.client.request_json(
        "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.scheduling.volcano.sh"
    )

    said = await person.types("queue", "list")

    assert (said.status, said.err) == (1, 'error: the server doesn\'t have a resource type "queues"')


async def test_a_server_that_is_not_there(person: Person) -> None:
    """A refused connection is reported with the address."""
    said = await person.types("queue", "list", "--server", "http://127.0.0.1:1")

    assert said.status == 1
    assert said.err == (
        "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?"
    )


async def test_a_kubeconfig_that_is_not_there(person: Person) -> None:
    """The file is named."""
    said = await person.types("queue", "list", "--kubeconfig", "/nowhere/config")

    assert said.status == 1
    assert said.err.startswith("error: /nowhere/config: no such kubeconfig file")
