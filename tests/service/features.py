"""What the service offers beyond the specification, or where the specification leaves a choice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Features:
    """Switches. The defaults are the specification alone; each other value is from the vendor's further documentation.

    `events_root`: section 2.1 reads as if one Team event were the response, yet a team has many. `"object"` is `{"events": […]}`, `"array"` the bare
    array, `"single"` one event as the root where there is exactly one (else the array).
    """

    events_root: str = "object"
    possessions_link: bool = False
    """Results carry `_possessions`."""
    possessions_summary_link: bool = False
    game_round: bool = False
    """Sessions of basketball have the type GAME_ROUND and the name null."""
    roster_reference_in_path: bool = False
    """`/teams/11,SHOTTRACKER` is answered too."""
    subscription_token: bool = False
    matchup: bool = False
    play_by_play: bool = False
    ball_screens: bool = False
    game_shots: bool = False
    catch_up: bool = False
    catch_up_lines: str = "players"
    """Whose lines are the stats of a catch-up: `"players"`, or `"all"` with the teams' totals."""
    broadcast_roster: bool = False
    broadcast_stats: bool = False
    api_key_header: bool = False
    locations_limit: bool = False
    """Windows of locations beyond 30 minutes are refused with 400."""

    @classmethod
    def everything(cls) -> Features:
        """Every addition switched on."""
        features = cls()
        for name, value in vars(features).items():
            if value is False:
                setattr(features, name, True)
        return features
