"""Answers over several tables at once: metrics, audit, clips, moments, crosswalk."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .audits import Audit, Rule, RuleRun, Violations, audit, check_rules, merge_violations
    from .matching import crosswalk
    from .metrics import (
        PER_36,
        MissingStat,
        effective_field_goal,
        four_factors,
        game_state,
        lineups,
        minutes,
        on_off,
        pace,
        per_36,
        plus_minus,
        possession_count,
        ratings,
        shooting,
        true_shooting,
        usage,
    )
    from .positions import moments
    from .videos import Clips, clips
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "audits": "Audit Rule RuleRun Violations audit check_rules merge_violations",
            "matching": "crosswalk",
            "metrics": (
                "PER_36 MissingStat effective_field_goal four_factors game_state lineups minutes on_off pace "
                "per_36 plus_minus possession_count ratings shooting true_shooting usage"
            ),
            "positions": "moments",
            "videos": "Clips clips",
        },
    )
