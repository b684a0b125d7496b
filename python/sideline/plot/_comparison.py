"""Two players beside each other, statistic by statistic."""

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like

from .._client import list_of_names
from .._rows import SCHEMAS
from ._axes import draws, new_axes
from ._data import Columns, Named, Names, Numbers, One, Rows, chosen_id, plain
from ._fit import fit
from ._look import TEAMS

STATS = ("PTS", "REB", "AST", "STL", "BLK", "TO", "FG%", "FG3%", "FT%")
LOWER_IS_BETTER = {"TO", "FL", "LBTO"}
SHARES = {"FG%": ("FG", "FGA"), "FG2%": ("FG2", "FGA2"), "FG3%": ("FG3", "FGA3"), "FT%": ("FT", "FTA")}

MIDDLE = 0.22
"""Half the width of the column of names, where a bar is at most 1 wide."""


@draws
def compare_players(
    rows: Rows,
    players: Sequence[One],
    ax: Axes | None = None,
    *,
    stats: Sequence[str] | None = None,
    names: Named | None = None,
    colors: Sequence[Any] = TEAMS[:2],
    **options: Any,
) -> Axes:
    """Draw the statistics of two players as bars to both sides; the longer bar of each row has the full width.

    The values are those of one game on average if the rows have a `game_id`: the sum over a player's rows, divided by
    the number of games with a row that has a count, of these statistics or another. Without one, such as in the table
    of `metrics.per_36`, they are those of the player's only row. The better value is bold; for turnovers and fouls,
    that is the lower one.

    Parameters:
        rows: `client.stats` or `client.box_score` of games, or a table with `player_id` and a column for each code.
        players: two players, each an id, a name, or a table of one.
        ax: default: new axes.
        stats: codes such as "PTS", or "FG%", "FG2%", "FG3%", "FT%", which are computed from the sums of makes and
            attempts; default: those of `STATS` that the rows have.
        names: names of players by id, or a roster; default: names in the rows, or the ids.
        colors: of the two players.
        options: for matplotlib's `barh`.

    Raises `ValueError` for a missing column, a player without a row, and several rows of a player without `game_id`.

    >>> box_scores = client.stats(client.game(game_id))
    >>> axes = sideline.plot.compare_players(box_scores, ["trey jansen", "noah sandoval"])
    >>> axes.get_title(loc="left")
    'Trey Jansen and Noah Sandoval'
    """
    if not isinstance(players, Sized) or isinstance(players, str) or len(players) != 2:
        raise ValueError(f"players is {players!r}; it must be two ids or names")
    if not isinstance(colors, Sized) or len(colors) != 2 or not all(is_color_like(color) for color in colors):
        raise ValueError(f"colors is {colors!r}; it must be two colours of matplotlib")
    table = "box_score"
    columns = Columns(rows, table, ["player_id"])
    labels = columns.player_names(names, "names")
    present = columns.numbers("player_id")
    ids = _ids(players, present, labels)
    if stats is not None:
        stats = list_of_names("stats", stats)
        codes = [code for stat in stats for code in SHARES.get(stat, (stat,))]
        Columns(rows, table, codes)
    rendered_stats = _with_values(columns, STATS if stats is None else stats)
    columns.check_once(table, ("team_id", "player_id"))
    sides = [_values(columns.only(present == player_id), rendered_stats, str(player_id)) for player_id in ids]
    if ax is None:
        ax = new_axes(7.5, max(2.0, 1.0 + 0.36 * len(rendered_stats)))
    people = [plain(labels.get(int(player_id or 0), f"player {player_id}")) for player_id in ids]
    _bars(ax, rendered_stats, [values for values, _ in sides], colors, options)
    for place, person, color in zip((-MIDDLE - 0.5, MIDDLE + 0.5), people, colors, strict=False):
        ax.text(place, -0.85, person, ha="center", va="center", fontsize=9, weight="bold", color=color)
    games = [count for _, count in sides]
    note = "as in the rows" if games == [None, None] else f"per game; {games[0]} and {games[1]} played"
    left_out = [stat for stat in STATS if stats is None and stat not in rendered_stats]
    notes = [note, "bold: the better value", f"not in the rows: {', '.join(left_out)}" if left_out else ""]
    ax.set_xlabel("; ".join(filter(None, notes)), fontsize=8, color="0.35")
    ax.set_title(" and ".join(people), loc="left", fontsize=11)
    return fit(ax)


def _ids(players: Sequence[One], present: Numbers, labels: Names) -> list[int | None]:
    """Return the ids of two players with rows."""
    ids = [chosen_id("player", player, present, labels) for player in players]
    if ids[0] == ids[1]:
        raise ValueError(f"players is {players!r}, the same player twice: name two")
    for player_id in ids:
        if not (present == player_id).any():
            raise ValueError(f"player {labels.get(int(player_id or 0), player_id)} has no row")
    return ids


def _with_values(columns: Columns, stats: Sequence[str]) -> list[str]:
    """Return the statistics that any row has a value for."""
    return [
        stat for stat in stats if all(np.isfinite(columns.numbers(code)).any() for code in SHARES.get(stat, (stat,)))
    ]


def _documented_codes() -> set[str]:
    """Return the stat codes of a box score; that of football has none."""
    return set(SCHEMAS["box_score"].names).difference(SCHEMAS.of_sport("football")["box_score"].names)


def _values(columns: Columns, stats: Sequence[str], player: str) -> tuple[dict[str, float], int | None]:
    """Return each statistic of a player, and the number of games; a share without an attempt is NaN."""
    chosen_codes = {code for stat in stats for code in SHARES.get(stat, (stat,))}
    counts = {code: columns.numbers(code) for code in sorted(chosen_codes | _documented_codes())}
    has_count = np.any([np.isfinite(column) for column in counts.values()], axis=0)
    games = columns.texts("game_id")
    if all(game is None for game in games):
        if len(games) > 1:
            raise ValueError(f"player {player} has {len(games)} rows without game_id: pass one row, or rows of games")
        game_count, divisor = None, 1
    else:
        game_count = divisor = len(set(games[has_count].tolist()))
    sums = {code: float(np.nansum(column)) for code, column in counts.items()}
    values = {}
    for stat in stats:
        if stat in SHARES:
            makes, attempts = (sums[code] for code in SHARES[stat])
            values[stat] = 100 * makes / attempts if attempts else np.nan
        else:
            values[stat] = sums[stat] / divisor if divisor else np.nan
    return values, game_count


def _bars(
    ax: Axes,
    stats: Sequence[str],
    sides: Sequence[dict[str, float]],
    colors: Sequence[Any],
    options: dict[str, Any],
) -> None:
    for row, stat in enumerate(stats):
        pair = [side[stat] for side in sides]
        longest = max((value for value in pair if np.isfinite(value)), default=0.0)
        best = (min if stat in LOWER_IS_BETTER else max)((value for value in pair if np.isfinite(value)), default=None)
        ax.text(0, row, plain(stat), ha="center", va="center", fontsize=9)
        for sign, value, color in zip((-1, 1), pair, colors, strict=False):
            width = value / longest if np.isfinite(value) and longest > 0 else 0.0
            ax.barh(row, sign * width, left=sign * MIDDLE, **{"height": 0.62, "color": color, **options})
            text = f"{value:.0f} %" if stat in SHARES else f"{value:.1f}"
            ax.text(
                sign * (MIDDLE + width + 0.03),
                row,
                text if np.isfinite(value) else "no attempt" if stat in SHARES else "no game",
                ha="left" if sign > 0 else "right",
                va="center",
                fontsize=8,
                weight="bold" if value == best and pair[0] != pair[1] else "normal",
                gid=f"{stat} {'left' if sign < 0 else 'right'}",
            )
    ax.set(xlim=(-1.45 - MIDDLE, 1.45 + MIDDLE), ylim=(len(stats) - 0.4, -1.3), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
