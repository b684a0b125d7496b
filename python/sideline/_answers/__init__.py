"""Answers over several tables at once: metrics, audit, clips, moments, crosswalk."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .audits import (
        Audit as Audit,
        Rule as Rule,
        RuleRun as RuleRun,
        Violations as Violations,
        audit as audit,
        check_rules as check_rules,
        merge_violations as merge_violations,
    )
    from .matching import crosswalk as crosswalk
    from .metrics import (
        PER_36 as PER_36,
        MissingStat as MissingStat,
        effective_field_goal as effective_field_goal,
        four_factors as four_factors,
        game_state as game_state,
        lineups as lineups,
        minutes as minutes,
        on_off as on_off,
        pace as pace,
        per_36 as per_36,
        plus_minus as plus_minus,
        possession_count as possession_count,
        ratings as ratings,
        shooting as shooting,
        true_shooting as true_shooting,
        usage as usage,
    )
    from .positions import moments as moments
    from .tracking import Tracking as Tracking, band_speeds as band_speeds
    from .videos import Clips as Clips, clips as clips
    from .whole_game import game_box_score as game_box_score, session_periods as session_periods
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
            "tracking": "Tracking band_speeds",
            "videos": "Clips clips",
            "whole_game": "game_box_score session_periods",
        },
    )
