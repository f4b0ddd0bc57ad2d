"""The text of a configuration becomes values, or all its faults at once."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.framework.configuration import FLAGS, Configuration, Parsed, PluginOption, parse
from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.configuration.notes import UnusableError
from pyroclast.framework.diagnosis.lint import Severity, lint
from pyroclast.model.errors import ConfigError

PLUGINS = [
    "binpack",
    "capacity",
    "conformance",
    "drf",
    "extender",
    "gang",
    "nodeorder",
    "numa-aware",
    "overcommit",
    "predicates",
    "priority",
    "proportion",
    "sla",
]
ACTIONS = ["allocate", "backfill", "enqueue", "gangpreempt", "gangreclaim", "preempt", "reclaim", "shuffle"]
DEFAULT = Path(__file__).parents[4] / "config" / "scheduler.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class BinpackArgs:
    """Arguments of a plugin."""

    weight: int = argument("binpack.weight", 1)
    bound: int = argument("binpack.bound", 1, refuse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptArgs:
    """Arguments of an action."""

    topology_aware: bool = argument("enableTopologyAwarePreemption", False)


def read(text: str | Mapping[str, Any], **options: Any) -> Parsed:
    """Parse with the plugins and actions of this file."""
    return parse(
        text,
        known_plugins=PLUGINS,
        known_actions=ACTIONS,
        argument_types={"binpack": BinpackArgs},
        action_argument_types={"preempt": PreemptArgs},
        **options,
    )


def option(text: str, **options: Any) -> PluginOption:
    """The one plugin of a configuration, given as a YAML flow mapping."""
    parsed = read(f"actions: allocate\ntiers: [{{plugins: [{text}]}}]", **options)
    return parsed.configuration.profiles[0].plugins[0]


def faults_of(text: str | Mapping[str, Any], **options: Any) -> tuple[str, ...]:
    """Every fault of a configuration."""
    with pytest.raises(ConfigError) as caught:
        read(text, **options)
    return caught.value.faults


def warnings_of(text: str) -> tuple[str, ...]:
    """Every warning of a configuration that can be used."""
    return read(text).warnings


# What is read ---------------------------------------------------------------------------------------------------------


def test_the_built_in_default_is_that_of_volcano() -> None:
    """Three actions, two tiers, nothing to warn of."""
    parsed = read(DEFAULT.read_text())

    (profile,) = parsed.configuration.profiles
    assert profile.actions == ("enqueue", "allocate", "backfill")
    assert [[each.plugin for each in tier] for tier in profile.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder"],
    ]
    assert profile.scheduler_names == ()
    assert parsed.warnings == ()


def test_every_key_is_read() -> None:
    """Actions, tiers, arguments of actions, metrics."""
    parsed = read("""
actions: "enqueue, allocate, preempt"
tiers:
  - plugins:
      - name: gang
        enablePreemptable: false
  - plugins:
      - name: binpack
        arguments:
          binpack.weight: 3
configurations:
  - name: preempt
    arguments:
      enableTopologyAwarePreemption: true
metrics:
  type: prometheus_adaptor
  interval: 30s
  tls.insecureSkipVerify: true
""")

    (profile,) = parsed.configuration.profiles
    gang, binpack = profile.plugins
    assert not gang.enabled("enablePreemptable")
    assert gang.enabled("enableReclaimable")
    assert binpack.arguments == {"binpack.weight": 3}
    assert binpack.path == "tiers[1].plugins[0]"
    assert profile.action_arguments == {"preempt": {"enableTopologyAwarePreemption": True}}
    assert profile.metrics == {"type": "prometheus_adaptor", "interval": "30s", "tls.insecureSkipVerify": "true"}
    assert parsed.warnings == ()


def test_flags_that_are_not_written_have_their_defaults() -> None:
    """All on but the hierarchy and the order of clusters."""
    flags = option("{name: drf}").flags

    assert flags == FLAGS
    assert {flag for flag, value in flags.items() if not value} == {"enableHierarchy", "enabledClusterOrder"}


def test_flags_that_are_not_written_are_off_without_the_loader() -> None:
    """Tiers made without Volcano's loader have every absent flag off."""
    flags = option("{name: drf, enableJobOrder: true}", absent_flags="off").flags

    assert [flag for flag, value in flags.items() if value] == ["enableJobOrder"]


def test_a_mapping_may_say_so_itself() -> None:
    """Decision tables carry `absentFlags` beside actions and tiers."""
    case = {"actions": ["allocate"], "tiers": [{"plugins": [{"name": "drf"}]}], "absentFlags": "off"}

    parsed = read(case)

    assert not any(parsed.configuration.profiles[0].plugins[0].flags.values())
    assert parsed.warnings == ()
    assert "absentFlags" in case


def test_a_flag_may_be_quoted() -> None:
    """Booleans in quotes are booleans."""
    assert option('{name: drf, enableHierarchy: "true"}').hierarchy


@pytest.mark.parametrize(("odd", "flag"), [("enabledJobOrder", "enableJobOrder"), ("enableVictim", "enabledVictim")])
def test_both_spellings_of_a_flag_are_understood(odd: str, flag: str) -> None:
    """The odd one warns, for Volcano ignores it."""
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: gang, {odd}: false}}]}}]"

    assert not read(text).configuration.profiles[0].plugins[0].enabled(flag)
    assert warnings_of(text)[0].startswith(f"tiers[0].plugins[0].{odd}: is spelled {flag!r}")


def test_the_canonical_spelling_of_a_flag_wins() -> None:
    """With both written the odd one has no effect."""
    text = "actions: allocate\ntiers: [{plugins: [{name: gang, enabledJobOrder: false, enableJobOrder: true}]}]"

    assert read(text).configuration.profiles[0].plugins[0].enabled("enableJobOrder")
    assert warnings_of(text) == ("tiers[0].plugins[0].enabledJobOrder: has no effect beside 'enableJobOrder'",)


def test_a_plugin_may_stand_twice_under_instance_names() -> None:
    """Both are kept, distinguished by instance."""
    text = "actions: allocate\ntiers: [{plugins: [{name: extender, instance: quota}, {name: extender, instance: b}]}]"

    plugins = read(text).configuration.profiles[0].plugins

    assert [(each.plugin, each.instance) for each in plugins] == [("extender", "quota"), ("extender", "b")]


def test_volcano_reads_dates_and_clock_times_as_texts() -> None:
    """`10:30` is no number of base 60, `2026-01-01` no date, `1e3` is a number."""
    arguments = option("{name: sla, arguments: {a: 10:30, b: 2026-01-01, c: 1e3, d: 1.5, e: 010, f: 1.}}").arguments

    assert arguments == {"a": "10:30", "b": "2026-01-01", "c": 1000.0, "d": 1.5, "e": 8, "f": 1.0}


def test_anchors_and_merge_keys_work() -> None:
    """What a merge brings in is no duplicate."""
    text = """
actions: allocate
tiers:
  - plugins:
      - &base {name: gang, enableJobOrder: false}
      - {<<: *base, name: priority}
"""
    assert [each.plugin for each in read(text).configuration.profiles[0].plugins] == ["gang", "priority"]


def test_equal_texts_have_equal_sources_and_the_generation_given() -> None:
    """The digest identifies a configuration, the number its place in time."""
    one, two = read("actions: allocate", generation=3), read("actions: allocate", generation=4)
    other = read("actions: backfill")

    assert one.configuration.source == two.configuration.source != other.configuration.source
    assert (one.configuration.generation, two.configuration.generation) == (3, 4)


# Profiles -------------------------------------------------------------------------------------------------------------

PROFILES = """
actions: enqueue, allocate
tiers: [{plugins: [{name: gang}]}]
metrics: {type: prometheus}
profiles:
  - schedulerName: batch
    actions: allocate
  - schedulerNames: [a, b]
    tiers: [{plugins: [{name: priority}]}]
"""


def chosen(configuration: Configuration, name: str) -> tuple[tuple[str, ...], list[str]]:
    """Actions and plugins for a scheduler name."""
    profile = configuration.profile(name)
    assert profile is not None
    return profile.actions, [each.plugin for each in profile.plugins]


def test_a_profile_takes_what_it_leaves_out_from_the_top() -> None:
    """And the top schedules the pods that no profile names."""
    configuration = read(PROFILES).configuration

    assert chosen(configuration, "batch") == (("allocate",), ["gang"])
    assert chosen(configuration, "b") == (("enqueue", "allocate"), ["priority"])
    assert chosen(configuration, "volcano") == (("enqueue", "allocate"), ["gang"])
    assert [dict(profile.metrics) for profile in configuration.profiles] == [{"type": "prometheus"}] * 3


def test_profiles_without_a_default_ignore_other_pods() -> None:
    """Without actions at the top there is no profile for the rest."""
    text = "profiles: [{schedulerName: a, actions: allocate, tiers: [{plugins: [{name: gang}]}]}]"

    assert read(text).configuration.profile("b") is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("profiles: []", "profiles: empty"),
        ("profiles: 5", "profiles: got 5, expected a list"),
        ("profiles: [5]", "profiles[0]: got 5, expected a mapping"),
        ("profiles: [{schedulerName: a}]", "profiles[0]"),
        ("actions: allocate\nprofiles: [{schedulerName: ''}]", "profiles[0].schedulerName: got '', expected a name"),
        ("actions: allocate\nprofiles: [{schedulerName: a}, {schedulerName: a}]", "profiles[1]: pods of scheduler 'a'"),
        ("actions: allocate\nprofiles: [{actions: backfill}]", "actions: pods whose scheduler no profile names belong"),
    ],
)
def test_broken_profiles_are_faults(text: str, fault: str) -> None:
    """Each names the profile."""
    found = faults_of(text)

    assert any(each.startswith(fault) or fault == "profiles[0]" for each in found), found


# Faults ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the configuration: empty; it must name at least its actions"),
        ("# nothing\n", "the configuration: empty; it must name at least its actions"),
        ("- allocate", "the configuration: got ['allocate'], expected a mapping"),
        ("allocate", "the configuration: got 'allocate', expected a mapping"),
        ("a: [", "line 1, column 5: not YAML: expected the node content, but found '<stream end>'"),
        ("a: !!python/object:os.system x", "line 1, column 4: not YAML: could not determine a constructor"),
        ("a: 1\n---\nb: 1", "the configuration: more than one YAML document"),
        ("actions: allocate\nactions: backfill", "line 2: the key 'actions' occurs twice"),
        ("a: " + "[" * 5000, "the configuration: not YAML: nested too deeply"),
        ("a: " + "1" * 5000, "the configuration: not YAML: Exceeds the limit"),
        ("actions: !!timestamp x", "the configuration: not YAML: a tag does not fit its value"),
        ("actions: !!bool maybe", "the configuration: not YAML: a tag does not fit its value"),
        ('actions: !!int ""', "the configuration: not YAML: a tag does not fit its value"),
        ('actions: !!float ""', "the configuration: not YAML: "),
        ("actions: !!binary é", "line 1, column 10: not YAML: "),
        ("actions: !!omap x", "line 1, column 10: not YAML: "),
        ("!!set {[]: 1}", "line 1, column 8: not YAML: "),
        ("a: \x00", "the configuration: not YAML: "),
        ("#" * 2**20 + "\n", "the configuration: longer than"),
        ("&a [*a]", "the configuration: got [[[[[[[...]]]]]]], expected a mapping"),
        ("tiers: []", "actions: missing"),
        ("actions: ''", "actions: empty"),
        ("actions: []", "actions: empty"),
        ("actions: 5", "actions: got 5, expected names with commas"),
        ("actions: [allocate, 5]", "actions[1]: got 5, expected the name of an action"),
        ("actions: 'allocate, '", "actions[1]: empty"),
        ("actions: alocate", "actions[0]: unknown action 'alocate' (did you mean 'allocate'?)"),
        ("actions: allocate\ntiers: 5", "tiers: got 5, expected a list"),
        ("actions: allocate\ntiers: [5]", "tiers[0]: got 5, expected a mapping"),
        ("actions: allocate\ntiers: [{plugins: gang}]", "tiers[0].plugins: got 'gang', expected a list"),
        ("actions: allocate\nconfigurations: [{arguments: {}}]", "configurations[0].name: missing"),
        ("actions: allocate\nmetrics: {type: []}", "metrics.type: got [], expected a text"),
        (
            "actions: allocate\nmetrics: {tls: {insecureSkipVerify: true}}",
            "metrics.tls: got a mapping, expected a text (did you mean 'tls.insecureSkipVerify'?)",
        ),
        (
            "actions: allocate\nmetrics: {elasticsearch: {pasword: secret}}",
            "metrics.elasticsearch: got a mapping, expected a text (did you mean 'elasticsearch.password'?)",
        ),
        ("actions: allocate\n5: x", "the configuration: the key 5 is no text"),
    ],
)
def test_a_broken_file_is_a_fault_with_its_place(text: str, fault: str) -> None:
    """Faults by line if the text is not YAML, by path if it is not a configuration."""
    found = faults_of(text)

    assert any(each.startswith(fault) for each in found), found


@pytest.mark.parametrize(
    ("plugin", "fault"),
    [
        ("gang", "tiers[0].plugins[0]: got 'gang', expected a mapping with a name"),
        ("{}", "tiers[0].plugins[0].name: missing"),
        ("{name: 5}", "tiers[0].plugins[0].name: got 5, expected a name"),
        ("{name: gang, instance: null}", "tiers[0].plugins[0].instance: missing"),
        ("{name: gang, arguments: 5}", "tiers[0].plugins[0].arguments: got 5, expected a mapping"),
        ("{name: gang, enableJobOrder: x}", "tiers[0].plugins[0].enableJobOrder: got 'x', expected true or false"),
        ("{name: binpack, arguments: {binpack.bound: x}}", "tiers[0].plugins[0].arguments.binpack.bound: got 'x'"),
        ("{name: gang}, {name: gang}", "tiers[0].plugins[1].name: 'gang' is already listed at tiers[0].plugins[0]"),
        ("{name: gang}, {name: sla, instance: gang}", "tiers[0].plugins[1].instance: 'gang' is already listed at"),
        ("{name: proportion}, {name: drf, enableHierarchy: true}", "tiers[0].plugins[1].enableHierarchy: drf with"),
    ],
)
def test_a_broken_plugin_is_a_fault_with_its_path(plugin: str, fault: str) -> None:
    """The path leads to the key."""
    (found,) = faults_of(f"actions: allocate\ntiers: [{{plugins: [{plugin}]}}]")

    assert found.startswith(fault)


def test_drf_with_a_hierarchy_and_proportion_conflict_across_tiers() -> None:
    """Volcano looks inside one tier alone."""
    text = "actions: allocate\ntiers: [{plugins: [{name: proportion}]}, {plugins: [{name: drf, enableHierarchy: on}]}]"

    (fault,) = faults_of(text)

    assert fault.startswith("tiers[1].plugins[0].enableHierarchy: drf with a hierarchy and proportion")


def test_combinations_are_not_checked_without_the_loader() -> None:
    """There proportion may stand beside a hierarchical drf."""
    plugins = [{"name": "drf", "enableHierarchy": True}, {"name": "proportion"}]
    case = {"actions": ["allocate"], "tiers": [{"plugins": plugins}]}

    assert len(read(case, absent_flags="off").configuration.profiles[0].plugins) == 2


def test_all_faults_are_reported_at_once() -> None:
    """One run tells everything, the warnings beside it."""
    text = """
actions: alocate, preempt
tiers:
  - plugins:
      - {name: gang, enableJobOrder: x}
      - {name: numaware}
  - plugins:
      - {name: gang}
"""
    with pytest.raises(UnusableError) as caught:
        read(text)

    assert [fault.partition(":")[0] for fault in caught.value.faults] == [
        "actions[0]",
        "tiers[0].plugins[0].enableJobOrder",
        "tiers[1].plugins[0].name",
    ]
    assert caught.value.warnings == (
        "tiers[0].plugins[1].name: unknown plugin 'numaware', it is skipped (did you mean 'numa-aware'?)",
    )


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"actions": ["allocate"], "absentFlags": "maybe"}, "absentFlags: got 'maybe', expected on or off"),
        ({"actions": ["allocate"], ("a", "b"): 1}, "the configuration: contains a value that no file can contain"),
    ],
)
def test_a_broken_mapping_is_a_fault(document: dict[Any, Any], fault: str) -> None:
    """Mappings handed over are judged as files are."""
    (found,) = faults_of(document)

    assert found.startswith(fault)


# Warnings -------------------------------------------------------------------------------------------------------------

GOOD = "actions: allocate\ntiers: [{plugins: [{name: gang}]}]\n"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (GOOD + "metric: {}", "metric: unknown key, it has no effect (did you mean 'metrics'?)"),
        (GOOD.replace("plugins: [", "pluggins: [], plugins: ["), "tiers[0].pluggins: unknown key"),
        (GOOD.replace("gang}", "gang, argument: {}}"), "tiers[0].plugins[0].argument: unknown key"),
        (GOOD.replace("gang}", "gang, enableJobOrdr: true}"), "tiers[0].plugins[0].enableJobOrdr: unknown key, it has"),
        (GOOD.replace("gang}", "gang, enableJobOrder: null}"), "tiers[0].plugins[0].enableJobOrder: is null"),
        (
            GOOD.replace("gang}", "numaaware}"),
            "tiers[0].plugins[0].name: unknown plugin 'numaaware', it is skipped (did",
        ),
        (
            GOOD.replace("gang}", "proportion}, {name: capacity}"),
            "tiers[0].plugins[1].name: capacity beside proportion",
        ),
        ("actions: allocate", "tiers: no plugins"),
        (GOOD.replace("[{plugins", "[null, {plugins"), "tiers[0]: empty: a tier without plugins has no effect"),
        (GOOD + "configurations: [{name: premept}]", "configurations[0].name: unknown action 'premept', its arguments"),
        (GOOD + "configurations: [{name: preempt}, {name: preempt}]", "configurations[1]: has no effect: the first"),
        (
            GOOD + "configurations: [{name: preempt, arguments: {enableTopologyAwarePreemption: 5}}]",
            "configurations[0].arguments.enableTopologyAwarePreemption: got 5, expected true or false; the default",
        ),
        (
            GOOD.replace("gang}", "binpack, arguments: {binpack.weight: x}}"),
            "tiers[0].plugins[0].arguments.binpack.weight: got 'x', expected a whole number; the default 1 is kept",
        ),
    ],
)
def test_what_has_no_effect_warns_and_strict_refuses_it(text: str, warning: str) -> None:
    """The configuration works as in Volcano; under strict the same sentence is a fault."""
    (found,) = warnings_of(text)

    assert found.startswith(warning)
    assert faults_of(text, strict=True) == (found,)


def test_an_unknown_plugin_is_left_out_of_its_tier() -> None:
    """The others of the tier stay."""
    text = "actions: allocate\ntiers: [{plugins: [{name: nosuch}, {name: gang}]}]"

    assert [each.plugin for each in read(text).configuration.profiles[0].plugins] == ["gang"]


def test_of_two_entries_for_an_action_the_first_holds() -> None:
    """As in Volcano."""
    text = GOOD + "configurations: [{name: allocate, arguments: {a: 1}}, {name: allocate, arguments: {a: 2}}]"

    assert read(text).configuration.profiles[0].action_arguments == {"allocate": {"a": 1}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["gang", "allocate", "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "actions",
                    "tiers",
                    "plugins",
                    "name",
                    "arguments",
                    "configurations",
                    "metrics",
                    "profiles",
                    "instance",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_whatever_stands_there_is_a_configuration_or_faults(document: Any) -> None:
    """No document makes the parser stumble."""
    with contextlib.suppress(ConfigError):
        assert read(document).configuration.profiles[0].actions


def test_shadows_are_in_no_tier() -> None:
    """They are listed apart, in the order of the file, with names that are as unique as those of other plugins."""
    text = "actions: allocate\ntiers: [{plugins: [{name: gang, shadow: true}, {name: priority, shadow: false}]}]"
    (profile,) = read(text).configuration.profiles
    assert [each.instance for each in profile.plugins] == ["priority"]
    assert [(each.instance, each.path) for each in profile.shadows] == [("gang", "tiers[0].plugins[0]")]
    with pytest.raises(ConfigError, match=r"tiers\[0\].plugins\[0\].shadow: got"):
        read("actions: allocate\ntiers: [{plugins: [{name: gang, shadow: perhaps}]}]")
    with pytest.raises(ConfigError, match="instance"):
        read("actions: allocate\ntiers: [{plugins: [{name: gang}, {name: gang, shadow: true}]}]")


def test_shadows_are_noted_by_a_check() -> None:
    """The note is no warning, so that a strict scheduler starts."""
    text = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: priority, shadow: true}]}]"
    notes = [each for each in lint(read(text)) if each.path.endswith(".shadow")]
    assert [(each.severity, each.path) for each in notes] == [(Severity.NOTE, "tiers[0].plugins[1].shadow")]
    assert read(text).warnings == ()


def test_time_budgets_are_durations() -> None:
    """Seconds beside the name of a plugin; nothing means the limit of the process."""
    text = "actions: allocate\ntiers: [{plugins: [{name: gang, timeBudget: 1m30s}, {name: priority}]}]"
    assert [each.time_budget for each in read(text).configuration.profiles[0].plugins] == [90.0, None]
    for wrong in ("5", "-1s", "soon", "[1]"):
        with pytest.raises(ConfigError, match=r"tiers\[0\].plugins\[0\].timeBudget: got"):
            read(f"actions: allocate\ntiers: [{{plugins: [{{name: gang, timeBudget: {wrong}}}]}}]")
