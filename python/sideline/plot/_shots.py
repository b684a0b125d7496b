"""Where shots were taken, and what they were worth there."""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from sideline.court import Court
from sideline.plot._court import Kind, court, nothing, on_half, rules
from sideline.plot._data import Columns, Names, Numbers, Rows, team_label, teams_of
from sideline.plot._look import EFFICIENCY, MAKE, MISS, efficiency_scale, text_on

FRAME = ("hoop_player_x", "hoop_player_y")

LETTERS = 7.5
"""Points: the size of a zone's numbers."""


class Shots:
    """The shots that can be drawn, and a note of those that cannot."""

    def __init__(
        self,
        rows: Rows,
        kind: Kind | Court,
        needed: tuple[str, ...],
        team_id: int | None,
        player_id: int | None,
        names: Names | None,
    ) -> None:
        asked = {"team_id": team_id, "player_id": player_id}
        columns = Columns(rows, "shots", [*needed, *(name for name, value in asked.items() if value is not None)])
        data = {name: columns.numbers(name) for name in {*needed, *asked}}
        chosen = np.ones(len(data["team_id"]), dtype=bool)
        for name, value in asked.items():
            if value is not None:
                chosen &= data[name] == value
        whole = chosen & np.all([np.isfinite(data[name]) for name in needed], axis=0)
        inside = whole & on_half(rules(kind), data["hoop_player_x"], data["hoop_player_y"])
        self._data: dict[str, Numbers] = {name: column[inside] for name, column in data.items()}
        self.incomplete = int(chosen.sum() - whole.sum())
        self.outside = int(whole.sum() - inside.sum())
        labels = columns.team_names(names)
        teams = teams_of(self["team_id"])
        shown = [team_label(team, labels) for team in teams]
        self.title = " and ".join(shown) if len(shown) < 3 else f"{len(shown)} teams"
        if player_id is not None:
            self.title = ", ".join(filter(None, [self.title, f"player {player_id}"]))

    def __getitem__(self, name: str) -> Numbers:
        return self._data[name]

    def __len__(self) -> int:
        return len(self["team_id"])

    def note(self, *more: str) -> str:
        lines = [f"{int(self['is_make'].sum())} of {len(self)} made"] if len(self) else []
        if self.outside:
            lines.append(f"{self.outside} outside this half, left out")
        if self.incomplete:
            lines.append(f"{self.incomplete} incomplete, left out")
        return "\n".join(filter(None, ["; ".join(lines), *more]))


def shot_chart(
    shots: Rows,
    ax: Axes | None = None,
    kind: Kind | Court = "college",
    style: Literal["makes", "hexbin"] = "makes",
    *,
    team_id: int | None = None,
    player_id: int | None = None,
    teams: Names | None = None,
    cell: float = 800.0,
) -> Axes:
    """Draw shots on a half court: each as make or miss, or what they were worth by place.

    Shots at both baskets come together. Those that lack a needed value and those from outside this half are left out;
    the note under the court counts them.

    Parameters:
        shots: the table `shots`; needed are `hoop_player_x`, `hoop_player_y`, `is_make`, for "hexbin" `points` too.
        ax: default: a new one.
        kind: the court; see `court`.
        style: "makes": circles and crosses. "hexbin": a hexagon's size is the number of shots, its colour the points a
            shot (facts of the shots drawn, not adjusted for their number).
        team_id, player_id: only the shots of this team, this player.
        teams: names of teams by id; default: those in the body or in a column `team_name`, else the ids.
        cell: width of a hexagon, in millimetres.

    Raises `ValueError` where a needed column is missing, and names it.

    >>> axes = sideline.plot.shot_chart(client.shots(session_id), style="hexbin", team_id=team_id)
    >>> axes.get_title(loc="left")
    'Elkhorn Mariners'
    """
    if style not in ("makes", "hexbin"):
        raise ValueError(f"style is {style!r}; it must be one of makes, hexbin")
    if not cell > 0:
        raise ValueError(f"cell is {cell}; it must be more than 0")
    needed = (*FRAME, "is_make") if style == "makes" else (*FRAME, "is_make", "points")
    found = Shots(shots, kind, needed, team_id, player_id, teams)
    ax = court(ax, kind)
    if not len(found):
        nothing(ax, "shots")
    elif style == "makes":
        _marks(ax, found)
    else:
        _hexagons(ax, found, cell)
    more = ["a hexagon's size: its number of shots"] if style == "hexbin" and len(found) else []
    return _titled(ax, found, *more)


def _titled(ax: Axes, shots: Shots, *notes: str) -> Axes:
    ax.set_title(shots.title, loc="left", fontsize=11)
    # A label and not a text: layout engines make room for it.
    ax.set_xlabel(shots.note(*notes), fontsize=8, color="0.35")
    return ax


def _marks(ax: Axes, shots: Shots) -> None:
    x, y, made = shots["hoop_player_x"], shots["hoop_player_y"], shots["is_make"] == 1
    # Misses first: a make on top of one is still seen, and a cross shows around a circle.
    ax.scatter(x[~made], y[~made], s=22, marker="x", c=MISS, linewidths=1.1, label="miss", zorder=2)
    ax.scatter(x[made], y[made], s=24, facecolors=MAKE, edgecolors="white", linewidths=0.5, label="make", zorder=3)
    ax.legend(loc="upper right", fontsize=8, frameon=False, handletextpad=0.2, borderaxespad=1.2)


def _hexagons(ax: Axes, shots: Shots, cell: float) -> None:
    x, y = shots["hoop_player_x"], shots["hoop_player_y"]
    centres, of = hexagons(x, y, cell)
    count = np.bincount(of)
    worth = np.bincount(of, weights=shots["points"]) / count
    # Without a bound the cell under the hoop would make all others dots.
    bound = max(1.0, float(np.quantile(count, 0.95)))
    size = 0.3 + 0.65 * np.sqrt(np.minimum(count, bound) / bound)
    angles = np.deg2rad(np.arange(30, 390, 60))
    corner = np.column_stack([np.cos(angles), np.sin(angles)]) * cell / np.sqrt(3)
    shapes = centres[:, None, :] + size[:, None, None] * corner[None, :, :]
    colours = EFFICIENCY.to_rgba(worth)
    ax.add_collection(PolyCollection(list(shapes), facecolors=colours, edgecolors="0.35", linewidths=0.4, zorder=2))
    efficiency_scale(ax)


def hexagons(x: Numbers, y: Numbers, cell: float) -> tuple[Numbers, npt.NDArray[np.intp]]:
    """Hexagons of this width, point up, one of them around the origin: the centres of those that hold points, and for
    each point the position of its own."""
    high = cell * math.sqrt(3) / 2
    # The centres are two grids of rectangles; the nearer of the nearest of both is the point's hexagon.
    candidates = []
    for shift in (0.0, 0.5):
        column, row = np.round(x / cell - shift) + shift, 2 * (np.round(y / (2 * high) - shift) + shift)
        candidates.append(np.column_stack([column * cell, row * high]))
    points = np.column_stack([x, y])
    away = [np.hypot(*(points - candidate).T) for candidate in candidates]
    nearest = np.where((away[0] <= away[1])[:, None], candidates[0], candidates[1])
    centres, of = np.unique(np.asarray(np.round(nearest, 6), dtype=np.float64), axis=0, return_inverse=True)
    return centres, of.reshape(-1)


def zones(
    shots: Rows,
    ax: Axes | None = None,
    kind: Kind | Court = "college",
    *,
    advanced: bool = False,
    team_id: int | None = None,
    player_id: int | None = None,
    teams: Names | None = None,
) -> Axes:
    """Draw makes and attempts of each of the service's zones on a half court.

    The service numbers its zones (1 to 14, advanced 1 to 23) and does not publish their borders. None are made up here:
    each zone stands at the mean place of its own shots, which are the dots; where two would meet, both give way.

    Parameters:
        shots: the table `shots`; needed are `hoop_player_x`, `hoop_player_y`, `is_make`, `points`, `zone`.
        advanced: by `advanced_zone`.
        ax, kind, team_id, player_id, teams: as in `shot_chart`.

    Raises `ValueError` where a needed column is missing, and names it.

    >>> sideline.plot.zones(client.shots(session_id)).get_title(loc="left")
    'Elkhorn Mariners and Harrow Rangers'
    """
    column = "advanced_zone" if advanced else "zone"
    found = Shots(shots, kind, (*FRAME, "is_make", "points", column), team_id, player_id, teams)
    ax = court(ax, kind)
    if not len(found):
        nothing(ax, "shots")
        return _titled(ax, found)
    x, y = found["hoop_player_x"], found["hoop_player_y"]
    ax.scatter(x, y, s=3, c="0.6", linewidths=0, zorder=1.5)
    numbers, of = np.unique(found[column], return_inverse=True)
    count = np.bincount(of)
    sums: dict[str, Any] = {name: np.bincount(of, weights=found[name]) for name in (*FRAME, "is_make", "points")}
    centres = np.column_stack([sums["hoop_player_x"] / count, sums["hoop_player_y"] / count])
    colours = EFFICIENCY.to_rgba(sums["points"] / count)
    labels = [f"{int(made)}/{shot}" for made, shot in zip(sums["is_make"], count, strict=True)]
    places = apart(centres, _label_sizes(ax, labels))
    for position, (zone, centre) in enumerate(zip(numbers, places, strict=True)):
        ax.text(
            float(centre[0]),
            float(centre[1]),
            labels[position],
            ha="center",
            va="center",
            fontsize=LETTERS,
            color=text_on(colours[position]),
            zorder=3,
            gid=f"{column} {int(zone)}",
            bbox={"boxstyle": "round,pad=0.3", "facecolor": colours[position], "edgecolor": "0.35", "linewidth": 0.5},
        )
    efficiency_scale(ax)
    return _titled(ax, found, "zone borders are not published:\neach zone is at the mean place of its shots")


def apart(places: Numbers, sizes: Numbers) -> Numbers:
    """Boxes around these places, of these widths and heights, each moved as little as it takes to overlap no other."""
    moved = places.astype(np.float64)
    # So many boxes as there are zones come to rest within a few rounds.
    for _ in range(100):
        rests = True
        for one in range(len(moved)):
            for other in range(one):
                away = moved[one] - moved[other]
                overlap = (sizes[one] + sizes[other]) / 2 - np.abs(away)
                if overlap.min() <= 0:
                    continue
                rests, axis = False, int(overlap.argmin())
                step = (overlap[axis] / 2 + 1) * (1 if away[axis] >= 0 else -1)
                moved[one, axis] += step
                moved[other, axis] -= step
        if rests:
            break
    return moved


def _label_sizes(ax: Axes, labels: list[str]) -> Numbers:
    """Widths and heights of numbers in a box, in the court's millimetres, as the axes stand now."""
    extent = ax.get_window_extent()
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    pixel = max((right - left) / extent.width, (high - low) / extent.height)
    # A digit is as wide as 0.64 of its size; the box adds 0.3 on each side, and there is a little air between two.
    letters = np.array([(0.64 * len(label) + 0.8, 1.8) for label in labels])
    return np.asarray(letters * LETTERS * ax.figure.dpi / 72 * pixel, dtype=np.float64)
