"""Who assists whom, as a network."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from .._client import check_count
from ._axes import draws, new_axes, nothing
from ._data import Columns, Named, Names, One, Rows, chosen_id, plain, team_label, teams_of
from ._fit import fit
from ._look import MAKE, OTHER

REQUIRED = ("session_id", "team_id", "possession", "possession_type", "details", "player_id")

Pair = tuple[int, int]


@draws
def assist_network(
    possession_events: Rows,
    ax: Axes | None = None,
    *,
    team: One | None = None,
    min_count: int = 1,
    teams: Named | None = None,
    players: Named | None = None,
    **options: Any,
) -> Axes:
    """Draw the assists of a team: an arrow from each passer to each scorer, wider for more assists.

    An assist belongs to the made field goal of a team mate in the same possession, to the nearest in time if there are
    several. Assists without one are left out; the note under the network gives their number.

    Parameters:
        possession_events: `client.possessions`, or the table `possession_events`.
        ax: default: new axes.
        team: an id, a name, or a table of one team; required if the rows are of several teams.
        min_count: pairs with fewer assists are not drawn; the note gives their number.
        teams, players: names by id, or a roster; default: names in the body, or the ids.
        options: for matplotlib's `FancyArrowPatch`.

    Raises `ValueError` for a missing column, for a team without a row, and for several teams without `team=`.

    >>> axes = sideline.plot.assist_network(client.possessions(client.game(game_id)), team="mariners")
    >>> axes.get_title(loc="left")
    'Assists of Elkhorn Mariners'
    """
    check_count("min_count", min_count)
    columns = Columns(possession_events, "possession_events", REQUIRED)
    columns.check_once("possession_events", ("team_id", "possession", "position"))
    # Rows may lack their position.
    is_assist = np.array(columns.texts("possession_type")) == "AST"
    columns.only(is_assist).check_once("possession_events", ("team_id", "possession", "player_id", "timestamp"))
    labels = columns.team_names(teams)
    columns = _select_team(columns, team, labels)
    present = teams_of(columns.numbers("team_id"))
    if ax is None:
        ax = new_axes(6, 5.8)
    ax.set(xlim=(-1.55, 1.55), ylim=(-1.25, 1.25), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    pairs, without = pairs_of(columns)
    frequent = {pair: count for pair, count in pairs.items() if count >= min_count}
    notes = [_count(sum(pairs.values()), "assist"), "numbers, order and size: assists given"] if frequent else []
    if rare := len(pairs) - len(frequent):
        notes.append(f"{_count(rare, 'pair')} with fewer than {min_count}, not drawn")
    if without:
        notes.append(f"{without} without a made field goal, left out")
    if frequent:
        _draw(ax, frequent, pairs, columns.player_names(players), options)
    else:
        nothing(ax, "assists")
    title = f"Assists of {team_label(present[0], labels)}" if present else "Assists"
    ax.set_title(title, loc="left", fontsize=11)
    ax.set_xlabel("; ".join(notes), fontsize=8, color="0.35")
    return fit(ax)


def _select_team(columns: Columns, team: One | None, labels: Names) -> Columns:
    """Select the rows of a team, which can only be omitted if all are of one."""
    ids = columns.numbers("team_id")
    selected_id = chosen_id("team", team, ids, labels)
    if selected_id is not None:
        return columns.only(ids == selected_id)
    present = teams_of(ids)
    if len(present) > 1:
        names = ", ".join(team_label(number, labels) for number in present)
        raise ValueError(f"these are possessions of {len(present)} teams, {names}: pass team=")
    return columns


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def pairs_of(columns: Columns) -> tuple[Counter[Pair], int]:
    """Return the number of assists of each passer and scorer, and of those without a made field goal."""
    assists: dict[Any, list[tuple[float, int]]] = defaultdict(list)
    makes: dict[Any, list[tuple[float, int]]] = defaultdict(list)
    keys = zip(*(columns.texts(name) for name in ("game_id", "session_id", "team_id", "possession")), strict=True)
    times, players = np.nan_to_num(columns.numbers("timestamp")), columns.numbers("player_id")
    kinds, details = columns.texts("possession_type"), columns.texts("details")
    for key, time, player, kind, codes in zip(keys, times, players, kinds, details, strict=True):
        if kind == "AST":
            assists[key].append((float(time), int(np.nan_to_num(player))))
        elif "FG" in (codes or ()):
            makes[key].append((float(time), int(np.nan_to_num(player))))
    pairs: Counter[Pair] = Counter()
    without = 0
    for key, passes in assists.items():
        left = makes[key]
        for time, passer in passes:
            mates = [make for make in left if make[1] and passer and make[1] != passer]
            if not mates:
                without += 1
                continue
            make = min(mates, key=lambda make: abs(make[0] - time))
            left.remove(make)
            pairs[passer, make[1]] += 1
    return pairs, without


def _draw(
    ax: Axes, frequent: dict[Pair, int], pairs: Counter[Pair], names: dict[int, str], options: dict[str, Any]
) -> None:
    """Draw the frequent pairs; numbers and sizes of the players are of all pairs."""
    assist_counts = Counter({player: 0 for pair in frequent for player in pair})
    for (passer, _), count in pairs.items():
        if passer in assist_counts:
            assist_counts[passer] += count
    order = [player for player, _ in sorted(assist_counts.items(), key=lambda item: (-item[1], item[0]))]
    max_count, max_assists = max(frequent.values()), max(assist_counts.values())
    turn = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    places = dict(zip(order, np.column_stack([np.cos(turn), np.sin(turn)]), strict=True))
    for (passer, scorer), count in sorted(frequent.items(), key=lambda item: item[1]):
        _arrow(ax, places[passer], places[scorer], count, count / max_count, options)
    sizes = [30 + 190 * assist_counts[player] / max_assists for player in order]
    x, y = np.array([places[player] for player in order]).T
    ax.scatter(x, y, s=sizes, color=MAKE, edgecolors="white", linewidths=0.8, zorder=3)
    labels = _short_names({player: names.get(player, str(player)) for player in order})
    for player, place in places.items():
        is_side = abs(place[0]) > 0.2
        side = ("left" if place[0] > 0 else "right") if is_side else "center"
        height = "center" if is_side else "bottom" if place[1] > 0 else "top"
        label = f"{plain(labels[player])} {assist_counts[player]}"
        ax.text(1.12 * place[0], 1.12 * place[1], label, ha=side, va=height, fontsize=8, gid=f"player {player}")


def _short_names(names: dict[int, str]) -> dict[int, str]:
    """Return each name without its first word, or the whole name where several would be the same."""
    last = {player: name.partition(" ")[2] or name for player, name in names.items()}
    counts = Counter(last.values())
    return {player: names[player] if counts[name] > 1 else name for player, name in last.items()}


def _arrow(
    ax: Axes,
    start: npt.NDArray[np.float64],
    end: npt.NDArray[np.float64],
    count: int,
    share: float,
    options: dict[str, Any],
) -> None:
    """Draw an arrow that bends to its right, so that the two directions of a pair lie apart."""
    width = 0.5 + 3.5 * share
    look: dict[str, Any] = {"color": MAKE if share > 0.5 else OTHER, "alpha": 0.35 + 0.55 * share, **options}
    ax.add_patch(
        FancyArrowPatch(
            (start[0], start[1]),
            (end[0], end[1]),
            arrowstyle="-|>",
            mutation_scale=8 + 2 * width,
            connectionstyle="arc3,rad=0.14",
            shrinkA=9,
            shrinkB=11,
            linewidth=width,
            zorder=1 + share,
            gid=_count(count, "assist"),
            **look,
        )
    )
