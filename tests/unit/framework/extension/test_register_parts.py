"""Several functions of one plugin at one point."""

from typing import Any

from pyroclast.framework.configuration import PluginOption, Profile, flags
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.refusals import Reason
from pyroclast.testing import Scenario, open_session
from tests.unit.plugins.filtering import node, opened, pod


class Parts(Plugin):
    """A plugin with two predicates, one of which it registers twice."""

    name = "parts"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register the second part before the first one."""

        def function(*_: Any) -> None:
            """Permit everything."""

        session.extensions.register(contract.PREDICATE, self.name, function, locality=Locality.FACTS, part="b")
        session.extensions.register(contract.PREDICATE, self.name, function, locality=Locality.GLOBAL, part="a")
        session.extensions.register(
            contract.PREDICATE, self.name, function, locality=Locality.NODE, reasons=[Reason("x")], part="b"
        )


def test_parts_stand_in_the_order_of_registration_under_one_name() -> None:
    """Each keeps its locality and its reasons; the same part again replaces the earlier in its place."""
    known = open_session(Scenario(), plugins=(Parts(),)).extensions.functions(contract.PREDICATE)

    assert [(each.plugin, each.locality) for each in known] == [("parts", Locality.NODE), ("parts", Locality.GLOBAL)]
    assert [each.reasons for each in known] == [(Reason("x"),), (Reason("refused by parts"),)]


def test_flag_of_the_point_switches_all_parts_off() -> None:
    """`enablePredicate: false` leaves none of them."""
    session = opened(node("n1"), pod("p")).session
    off = {**flags.defaults(absent=True), "enablePredicate": False}
    option = PluginOption(plugin="predicates", instance="predicates", flags=off)
    session.extensions.profile = Profile(actions=(), tiers=((option,),))
    session.extensions._functions.clear()
    session.extensions._tiers.clear()

    assert session.extensions.functions(contract.PREDICATE) == ()
