"""The metrics of `sideline.metrics`, by idea.

common.py        box scores as arguments, sums and shares
sides.py         possessions from both teams' sides, by the players on court
names.py         names of players
box_scores.py    shooting and the four factors
possessions.py   ratings of teams, players and lineups
playing_time.py  possessions, minutes, pace, per 36 and usage
states.py        seconds left and margin
"""

from .box_scores import effective_field_goal, four_factors, shooting, true_shooting
from .common import MissingStat
from .playing_time import PER_36, minutes, pace, per_36, possession_count, usage
from .possessions import lineups, on_off, plus_minus, ratings
from .states import game_state

__all__ = [
    "PER_36",
    "MissingStat",
    "effective_field_goal",
    "four_factors",
    "game_state",
    "lineups",
    "minutes",
    "on_off",
    "pace",
    "per_36",
    "plus_minus",
    "possession_count",
    "ratings",
    "shooting",
    "true_shooting",
    "usage",
]
