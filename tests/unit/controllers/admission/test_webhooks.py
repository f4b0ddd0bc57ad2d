"""Webhook configurations: what is asked, how long, and what silence means."""

from pathlib import Path

import pytest
import yaml

from pyroclast.controllers.admission.handlers import SERVICES
from pyroclast.controllers.admission.webhooks import WebhookOptions, configurations, write
from tests.unit.controllers.admission.objects import Json

FOLDER = Path(__file__).parents[4] / "deploy" / "webhooks"


def webhooks(options: WebhookOptions) -> dict[str, Json]:
    """All webhooks by name."""
    return {webhook["name"]: webhook for each in configurations(options) for webhook in each["webhooks"]}


ALL = webhooks(WebhookOptions(paths=tuple(SERVICES), failure_policy="Fail"))


def test_the_files_of_the_chart_are_current(tmp_path: Path) -> None:
    """`make webhooks` would change nothing."""
    write(tmp_path)

    for made in tmp_path.iterdir():
        assert (FOLDER / made.name).read_text() == made.read_text()
    assert {each.name for each in FOLDER.glob("*.yaml")} == {"mutating.yaml", "validating.yaml"}


def test_silence_about_a_pod_is_a_yes_whatever_is_chosen() -> None:
    """No pod waits for us longer than two seconds, and none is refused because we are away."""
    for name in ("mutatepod.volcano.sh", "validatepod.volcano.sh"):
        assert (ALL[name]["failurePolicy"], ALL[name]["timeoutSeconds"]) == ("Ignore", 2)
    assert ALL["validatejob.volcano.sh"]["failurePolicy"] == "Fail"
    assert all(each["failurePolicy"] == "Ignore" for each in webhooks(WebhookOptions()).values())


def test_namespaces_of_the_system_are_left_alone() -> None:
    """Ours too, so that we can always be started."""
    for webhook in webhooks(WebhookOptions(namespace="batch")).values():
        (expression,) = webhook["namespaceSelector"]["matchExpressions"]
        assert (expression["operator"], expression["values"]) == ("NotIn", ["batch", "kube-system"])


def test_pods_are_no_business_of_ours_unless_asked_for() -> None:
    """The chart's own choice has custom resources alone; of pods those of our schedulers, or all for groups."""
    ours = "object.spec.schedulerName in ['volcano']"
    grouped = webhooks(WebhookOptions(paths=tuple(SERVICES), has_resource_groups=True))

    assert not [name for name in webhooks(WebhookOptions()) if "pod.volcano" in name]
    for each in (ALL["mutatepod.volcano.sh"], ALL["validatepod.volcano.sh"], grouped["validatepod.volcano.sh"]):
        assert each["matchConditions"][0]["expression"] == ours
    assert "matchConditions" not in grouped["mutatepod.volcano.sh"]


def test_status_is_never_asked_about() -> None:
    """Schedulers and controllers write it all the time."""
    assert all("/" not in resource for each in ALL.values() for rule in each["rules"] for resource in rule["resources"])


@pytest.mark.parametrize("path", SERVICES)
def test_each_path_has_its_webhook(path: str) -> None:
    """Reached by its service, or by address."""
    by_service = webhooks(WebhookOptions(paths=(path,)))
    by_address = webhooks(WebhookOptions(paths=(path,), url="https://10.0.0.1:8443/", authorities=b"ca"))

    (webhook,) = by_service.values()
    assert webhook["clientConfig"]["service"]["path"] == path
    assert next(iter(by_address.values()))["clientConfig"] == {
        "url": f"https://10.0.0.1:8443{path}",
        "caBundle": "Y2E=",
    }


def test_the_files_are_yaml_of_one_kind_each() -> None:
    """Readable by all users."""
    assert [yaml.safe_load((FOLDER / name).read_text())["kind"] for name in ("mutating.yaml", "validating.yaml")] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
