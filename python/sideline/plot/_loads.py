"""Loads of players by speed band, and matchups with their intervals."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from .._answers import band_speeds
from .._client import check_count
from ._axes import draws, new_axes, nothing
from ._data import Columns, Named, Names, One, Rows, chosen_id, plain
from ._fit import fit
from ._look import MAKE, OTHER

BANDS = tuple(f"distance_band_{number}_m" for number in range(1, 6))

FEW_SHOTS = 20
"""Below this, a share says little whatever its interval."""

LOW_SHARE = 0.9
"""A player who was seen in a smaller share of the frames ran more than is shown."""


@draws
def loads(
    loads: Rows,
    ax: Axes | None = None,
    *,
    team: One | None = None,
    limit: int = 100,
    teams: Named | None = None,
    players: Named | None = None,
    bands: Sequence[float] | None = None,
    **options: Any,
) -> Axes:
    """Draw the distance of each player by speed band, with the share of frames in which the player was seen.

    Parameters:
        loads: the table of `Tracking.loads`; several rows of a player are added up.
        ax: default: new axes.
        team: only this team: an id, a name, or a table of one, such as `client.find_team("mariners")`.
        limit: the number of players, those who ran most first; a note says how many there are.
        teams: names by id, or a roster, for `team`; default: names in the rows.
        players: labels of players by id, or a roster; default: the id.
        bands: the four speeds in m/s that `Tracking.loads` had, for the legend; a table does not have them.
        options: for matplotlib's `barh`.

    Raises `ValueError` for a missing column, a team without a row, a limit below 1, and other than four speeds.

    >>> tracking = client.tracking(game_id)
    >>> axes = sideline.plot.loads(tracking.loads(), players=tracking.players, bands=(2, 4, 5.5, 7))
    >>> axes.get_xlabel()
    'distance (m)'
    """
    columns = Columns(loads, "tracking_loads", ["player_id", *BANDS])
    check_count("limit", limit)
    names = _band_names(bands)
    if team is not None:
        ids = columns.numbers("team_id")
        columns = columns.only(ids == chosen_id("team", team, ids, columns.team_names(teams)))
    player = columns.numbers("player_id")
    is_known = np.isfinite(player)
    ids, places = np.unique(player[is_known], return_inverse=True)
    metres = [np.nan_to_num(columns.numbers(band)[is_known]) for band in BANDS]
    sums = np.stack([np.bincount(places, band, len(ids)) for band in metres], axis=1)
    count = len(ids)
    if ax is None:
        ax = new_axes(8, max(2.0, 0.6 + 0.28 * min(count, limit)))
    if not len(ids):
        nothing(ax, "loads")
        return ax
    order = np.argsort(sums.sum(axis=1), kind="stable")[-limit:]
    ids, sums = ids[order], sums[order]
    labels, shares = columns.player_names(players), _seen_shares(columns)
    shades, start = colormaps["viridis_r"](np.linspace(0.05, 0.95, len(BANDS))), np.zeros(len(ids))
    for number, name in enumerate(names):
        width = sums[:, number]
        ax.barh(np.arange(len(ids)), width, left=start, **{"color": shades[number], "label": name, **options})
        start = start + width
    for place, player_id in enumerate(ids):
        _note_share(ax, float(start[place]), place, shares.get(float(player_id)))
    ax.set_yticks(
        np.arange(len(ids)), [plain(labels.get(int(player_id), str(int(player_id)))) for player_id in ids], fontsize=8
    )
    ax.tick_params(axis="x", labelsize=8)
    note = f"\nthe {limit} of {count} players who ran most" if count > limit else ""
    ax.set_xlabel(f"distance (m){note}", fontsize=8)
    ax.set_xlim(0, float(start.max()) * 1.15 or 1.0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower right", fontsize=7, frameon=False)
    return fit(ax)


def _band_names(bands: Sequence[float] | None) -> Sequence[str]:
    if bands is None:
        return "lowest band", "second", "third", "fourth", "highest band"
    speeds = band_speeds(bands)
    middle = [f"{low:g} to {high:g}" for low, high in pairwise(speeds)]
    return f"below {speeds[0]:g} m/s", *middle, f"above {speeds[-1]:g}"


def _seen_shares(columns: Columns) -> dict[float, float]:
    """Return the share of frames in which each player was seen, of all periods of the player's team.

    A period counts by its minutes: those of whoever was tracked longest.
    """
    player, share, minutes = map(columns.numbers, ("player_id", "seen_share", "tracked_min"))
    team = np.nan_to_num(columns.numbers("team_id"), nan=-1)
    parts = list(zip(*map(columns.texts, ("session_id", "game_id", "period")), strict=True))
    longest: dict[Any, float] = {}
    for part, tracked_min in zip(parts, np.nan_to_num(minutes, nan=1.0), strict=True):
        longest[part] = max(longest.get(part, 0.0), float(tracked_min))
    own_parts = {team_id: {parts[row] for row in np.flatnonzero(team == team_id)} for team_id in np.unique(team)}
    of_team = {
        team_id: sum(longest[part] for part in sorted(team_parts, key=str)) for team_id, team_parts in own_parts.items()
    }
    shares: dict[float, float] = {}
    for row in np.flatnonzero(np.isfinite(player) & np.isfinite(share)):
        player_id, total = float(player[row]), of_team.get(team[row], 0.0)
        if total > 0:
            shares[player_id] = shares.get(player_id, 0.0) + float(share[row]) * longest[parts[row]] / total
    return shares


def _note_share(ax: Axes, x: float, y: int, share: float | None) -> None:
    """Write the share of frames in which a player was seen, in bold where it is low."""
    if share is not None:
        weight = "bold" if share < LOW_SHARE else "normal"
        ax.annotate(
            f"seen {share:.0%}", (x, y), (3, 0), textcoords="offset points", va="center", fontsize=7, weight=weight
        )


@draws
def matchups(
    matchups: Rows,
    ax: Axes | None = None,
    *,
    player: One | None = None,
    limit: int = 15,
    players: Named | None = None,
    **options: Any,
) -> Axes:
    """Draw the share of made shots of each attacker and defender, with its 90 % interval.

    Pairs with fewer than 20 shots are grey and say "few shots".

    Parameters:
        matchups: the table of `Tracking.matchups`; pairs without a shot are left out.
        ax: default: new axes.
        player: only pairs with this attacker or defender: an id, a name, or a table of one.
        limit: the number of pairs, those with the most shots first.
        players: labels of players by id, or a roster; default: the id.
        options: for matplotlib's `errorbar`.

    Raises `ValueError` for a missing column, and for a player without a row.

    >>> tracking = client.tracking(game_id)
    >>> axes = sideline.plot.matchups(tracking.matchups(), players=tracking.players)
    >>> axes.get_xlabel()
    'makes / shots, with 90 % interval'
    """
    required = ["offense_player_id", "defense_player_id", "shots", "makes", "low_90", "high_90"]
    columns = Columns(matchups, "tracking_matchups", required)
    check_count("limit", limit)
    names = columns.player_names(players)
    columns = _select_pairs(columns, player, names)
    attacker, defender, shots, makes, low, high = (columns.numbers(name) for name in required)
    order = np.argsort(-shots, kind="stable")[:limit][::-1]
    if ax is None:
        ax = new_axes(7, max(2.0, 0.8 + 0.3 * len(order)))
    if not len(order):
        nothing(ax, "shots with a known defender")
        return ax
    for place, row in enumerate(order):
        share, is_few = makes[row] / shots[row], shots[row] < FEW_SHOTS
        look = {"fmt": "o", "color": OTHER if is_few else MAKE, "capsize": 3, "markersize": 5, **options}
        ax.errorbar(share, place, xerr=[[share - low[row]], [high[row] - share]], **look)
        note = f"{int(makes[row])} of {int(shots[row])}{', few shots' if is_few else ''}"
        ax.annotate(note, (1.02, place), va="center", fontsize=7, annotation_clip=False)
    label = [
        " on ".join(plain(names.get(int(side), str(int(side)))) for side in (defender[row], attacker[row]))
        for row in order
    ]
    ax.set_yticks(np.arange(len(order)), label, fontsize=8)
    ax.set_xlim(0, 1)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("makes / shots, with 90 % interval", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return fit(ax)


def _select_pairs(columns: Columns, player: One | None, names: Names) -> Columns:
    """Select the pairs with a shot, of a player or of all."""
    is_drawn = columns.numbers("shots") > 0
    if player is not None:
        attackers, defenders = columns.numbers("offense_player_id"), columns.numbers("defense_player_id")
        player_id = chosen_id("player", player, np.concatenate([attackers, defenders]), names)
        is_drawn &= (attackers == player_id) | (defenders == player_id)
    return columns.only(is_drawn)
