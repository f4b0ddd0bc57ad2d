"""Templates of pods: what Kubernetes would refuse of a pod, and what it takes."""

import pytest

from pyroclast.controllers.admission.rules.templates import template_faults
from tests.unit.controllers.admission.objects import Json, container

FIELD = "spec.tasks[0].template"


def template(*containers: Json, metadata: Json | None = None, **spec: object) -> Json:
    """A template."""
    return {"metadata": metadata or {}, "spec": {"containers": list(containers) or [container()], **spec}}


def probe(**fields: object) -> Json:
    """A probe that asks for a port."""
    return {"tcpSocket": {"port": 80}, **fields}


REFUSED: list[tuple[Json, str, str]] = [
    ({"spec": {"containers": []}}, "spec.containers", "Required value"),
    ({}, "spec.containers", "Required value"),
    (template(metadata={"labels": {"a b": "c"}}), "metadata.labels", "the key is no name of a label"),
    (template(metadata={"labels": {"a": "b c"}}), "metadata.labels[a]", "this is no value of a label"),
    (template(metadata={"annotations": {"a b": "c"}}), "metadata.annotations", "the key is no name"),
    (template(metadata={"annotations": {"a": "b" * 300_000}}), "metadata.annotations", "the annotations are too long"),
    (template(container(name="")), "spec.containers[0].name", "Required value"),
    (template(container(name="A")), "spec.containers[0].name", "this is no DNS label"),
    (template(container(), container()), "spec.containers[1].name", "Duplicate value"),
    (template(initContainers=[container()]), "spec.containers[0].name", "Duplicate value"),
    (template({"name": "c"}), "spec.containers[0].image", "Required value"),
    (template(container(image=" busybox")), "spec.containers[0].image", "leading or trailing whitespace"),
    (template(container(imagePullPolicy="Often")), "spec.containers[0].imagePullPolicy", "Unsupported value"),
    (template(container(ports=[{"containerPort": 0}])), "spec.containers[0].ports[0].containerPort", "this is no port"),
    (
        template(container(ports=[{"containerPort": 1, "name": "80"}])),
        "spec.containers[0].ports[0].name",
        "this is no name of a port",
    ),
    (
        template(container(ports=[{"containerPort": 1, "protocol": "QUIC"}])),
        "spec.containers[0].ports[0].protocol",
        "Unsupported value",
    ),
    (
        template(container(ports=[{"containerPort": 1, "hostPort": 2}]), hostNetwork=True),
        "spec.containers[0].ports[0].hostPort",
        "must match `containerPort` where `hostNetwork` is true",
    ),
    (
        template(container(ports=[{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}])),
        "spec.containers[0].ports[1].hostPort",
        "Duplicate value",
    ),
    (template(container(env=[{"value": "x"}])), "spec.containers[0].env[0].name", "Required value"),
    (template(container(env=[{"name": "a=b"}])), "spec.containers[0].env[0].name", "this is no name"),
    (
        template(container(env=[{"name": "a", "value": "b", "valueFrom": {"fieldRef": {}}}])),
        "spec.containers[0].env[0].valueFrom",
        "may not be specified when `value` is not empty",
    ),
    (
        template(container(env=[{"name": "a", "valueFrom": {}}])),
        "spec.containers[0].env[0].valueFrom",
        "must name exactly one source",
    ),
    (
        template(container(volumeMounts=[{"name": "v", "mountPath": "/v"}])),
        "spec.containers[0].volumeMounts[0].name",
        "there is no such volume",
    ),
    (
        template(container(volumeMounts=[{"name": "v"}]), volumes=[{"name": "v"}]),
        "spec.containers[0].volumeMounts[0].mountPath",
        "Required value",
    ),
    (
        template(container(volumeMounts=[{"name": "v", "mountPath": "/v"}] * 2), volumes=[{"name": "v"}]),
        "spec.containers[0].volumeMounts[1].mountPath",
        "must be unique",
    ),
    (
        template(
            container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "../x"}]), volumes=[{"name": "v"}]
        ),
        "spec.containers[0].volumeMounts[0].subPath",
        "leads outside",
    ),
    (
        template(container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
        "spec.containers[0].resources.requests.cpu",
        'must be less than or equal to cpu limit (got "2", expected at most 1)',
    ),
    (
        template(container(resources={"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}})),
        "spec.containers[0].resources.requests.nvidia.com/gpu",
        "must be equal to nvidia.com/gpu limit",
    ),
    (
        template(container(resources={"requests": {"nvidia.com/gpu": 1}})),
        "spec.containers[0].resources.limits.nvidia.com/gpu",
        "a limit must be set",
    ),
    (
        template(container(resources={"limits": {"nvidia.com/gpu": "500m"}})),
        "spec.containers[0].resources.limits.nvidia.com/gpu",
        "must be an integer",
    ),
    (
        template(container(resources={"limits": {"cpu": "-1"}})),
        "spec.containers[0].resources.limits.cpu",
        "must be greater than or equal to 0",
    ),
    (
        template(container(resources={"limits": {"gpu": "1"}})),
        "spec.containers[0].resources.limits",
        "must be a standard resource for containers",
    ),
    (
        template(container(resources={"limits": {"hugepages-2Mi": "2Mi"}})),
        "spec.containers[0].resources",
        "huge pages require cpu or memory beside",
    ),
    (template(container(livenessProbe={})), "spec.containers[0].livenessProbe", "must ask in exactly one way"),
    (
        template(container(livenessProbe=probe(successThreshold=2))),
        "spec.containers[0].livenessProbe.successThreshold",
        "must be 1",
    ),
    (
        template(container(readinessProbe=probe(periodSeconds=-1))),
        "spec.containers[0].readinessProbe.periodSeconds",
        "must not be negative",
    ),
    (
        template(initContainers=[container(name="i", startupProbe=probe())]),
        "spec.initContainers[0].startupProbe",
        "may not be set for init containers",
    ),
    (template(volumes=[{"name": "V"}]), "spec.volumes[0].name", "this is no DNS label"),
    (template(volumes=[{"name": "v"}, {"name": "v"}]), "spec.volumes[1].name", "Duplicate value"),
    (
        template(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {}}]),
        "spec.volumes[0]",
        "may not specify more than 1 volume type",
    ),
    (
        template(volumes=[{"name": "v", "persistentVolumeClaim": {}}]),
        "spec.volumes[0].persistentVolumeClaim.claimName",
        "Required value",
    ),
    (template(restartPolicy="Sometimes"), "spec.restartPolicy", "Unsupported value"),
    (template(dnsPolicy="Mine"), "spec.dnsPolicy", "Unsupported value"),
    (template(dnsPolicy="None"), "spec.dnsConfig.nameservers", "a name server is required"),
    (
        template(dnsConfig={"nameservers": ["1.1.1.1"] * 4}),
        "spec.dnsConfig.nameservers",
        "there are too many name servers",
    ),
    (template(activeDeadlineSeconds=0), "spec.activeDeadlineSeconds", "this is no deadline"),
    (template(hostname="A"), "spec.hostname", "this is no DNS label"),
    (template(serviceAccountName="A"), "spec.serviceAccountName", "this is no name of an object"),
    (template(ephemeralContainers=[{}]), "spec.ephemeralContainers", "not allowed in templates"),
    (template(nodeSelector={"a": "b c"}), "spec.nodeSelector[a]", "this is no value of a label"),
    (template(tolerations=[{"value": "x"}]), "spec.tolerations[0].operator", "operator must be Exists when `key`"),
    (
        template(tolerations=[{"operator": "Exists", "value": "x"}]),
        "spec.tolerations[0].value",
        "value must be empty when `operator` is Exists",
    ),
    (
        template(tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]),
        "spec.tolerations[0].effect",
        "effect must be NoExecute when `tolerationSeconds` is set",
    ),
    (
        template(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}),
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        "Required value",
    ),
    (
        template(
            affinity={
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "In"}]}}
                    ]
                }
            }
        ),
        (
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
            ".preference.matchExpressions[0].values"
        ),
        "does not go with operator In",
    ),
    (
        template(
            affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}}
        ),
        "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
        "this is no key of a label of nodes",
    ),
    (
        template(
            affinity={
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}
                    ]
                }
            }
        ),
        "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
        "must be in the range 1-100",
    ),
    (
        template(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
        "spec.topologySpreadConstraints[0].maxSkew",
        "must be greater than zero",
    ),
    (template(schedulingGates=[{"name": "a"}, {"name": "a"}]), "spec.schedulingGates[1].name", "Duplicate value"),
    (template(container(env="PATH")), "spec.containers[0].env", 'expected `array`, got `str` (got "PATH")'),
    ({"spec": "nothing"}, "spec", "expected `object`, got `str`"),
]


TAKEN: list[Json] = [
    template(),
    template(container(imagePullPolicy="", terminationMessagePolicy="FallbackToLogsOnError")),
    template(container(ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}])),
    template(container(ports=[{"containerPort": 9, "hostPort": 9}]), hostNetwork=True),
    template(container(env=[{"name": "my.var-1", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}])),
    template(container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "a/b"}]), volumes=[{"name": "v"}]),
    template(container(resources={"requests": {"cpu": "1"}, "limits": {"cpu": "1000m", "nvidia.com/gpu": 1}})),
    template(container(resources={"limits": {"hugepages-2Mi": "2Mi", "cpu": 1}})),
    template(
        container(
            resources={"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi", "memory": "1Gi"}},
        )
    ),
    template(
        container(
            resources={"requests": {"hugepages-2Mi": "2Mi", "memory": "1Gi"}, "limits": {"hugepages-2Mi": "2Mi"}},
        )
    ),
    template(
        container(
            ports=[
                {"containerPort": 1, "hostPort": 9, "hostIP": "10.0.0.1"},
                {"containerPort": 2, "hostPort": 9, "hostIP": "10.0.0.2"},
            ]
        )
    ),
    template(initContainers=[container(name="i", restartPolicy="Always", startupProbe=probe())]),
    template(container(livenessProbe={"exec": {"command": ["x"]}, "successThreshold": 1})),
    template(restartPolicy="OnFailure", dnsPolicy="ClusterFirstWithHostNet", terminationGracePeriodSeconds=0),
    template(tolerations=[{"operator": "Exists"}, {"key": "a", "effect": "NoExecute", "tolerationSeconds": 5}]),
    template(metadata={"labels": {"app.kubernetes.io/name": "x", "empty": ""}, "annotations": {"UPPER": "any ü"}}),
    template(container(env=None), volumes=None, tolerations=None),
    template(unheardOf={"a": 1}),
]


@pytest.mark.parametrize(("value", "field", "words"), REFUSED, ids=[f"{field} {words}" for _, field, words in REFUSED])
def test_what_is_refused(value: Json, field: str, words: str) -> None:
    """One fault, at its field."""
    (fault,) = template_faults(value, FIELD)

    assert fault.field == f"{FIELD}.{field}"
    assert words in str(fault)


@pytest.mark.parametrize("value", TAKEN)
def test_what_is_taken(value: Json) -> None:
    """Kubernetes takes it; unknown fields are its business."""
    assert list(template_faults(value, FIELD)) == []
