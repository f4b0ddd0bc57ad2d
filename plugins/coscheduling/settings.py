"""Settings: the rules for gangs from a configuration."""

from typing import Final

from pyroclast.framework.configuration import Profile
from pyroclast.framework.configuration.arguments import decode
from pyroclast.model.gangs import GangRules
from pyroclast.plugins.coscheduling.arguments import CoschedulingArgs

__all__ = ["NAME", "gang_rules"]

NAME: Final = "coscheduling"


def gang_rules(profile: Profile) -> GangRules | None:
    """Return the defaults for gangs; None if the configuration does not enable coscheduling."""
    option = next((each for each in profile.plugins if each.plugin == NAME), None)
    if option is None:
        return None
    args, _ = decode(CoschedulingArgs, option.arguments, option.path)
    return GangRules(
        match_policy=args.match_policy,
        waiting_seconds=min(float(args.timeout), float(args.longest_wait)),
        longest_wait_seconds=float(args.longest_wait),
        keeps_places=args.keeps_places,
        gathers=args.gathers,
    )
