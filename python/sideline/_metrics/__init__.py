"""The metrics of `sideline.metrics`, by idea.

_common.py        box scores as arguments, sums and shares
sides_with_points.py         possessions from both teams' sides, by the players on court
_names.py         names of players
_shooting.py      shooting and the four factors
rating_columns.py       ratings of teams, players and lineups
_playing_time.py  possessions, minutes, pace, per 36 and usage
_game_state.py    seconds left and margin
"""
