"""Shot charts and zones."""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from .._client import check_count
from .._rows import is_number
from ..court import Court
from ._axes import draws, nothing
from ._court import Rules, court as draw_court, on_half, reach, rules
from ._data import Columns, Named, Numbers, One, Rows, chosen_id, plain, team_label, teams_of
from ._fit import fit
from ._loads import FEW_SHOTS
from ._look import DENSITY, EFFICIENCY, MAKE, MISS, OPENNESS, efficiency_scale, text_on

FRAME = ("hoop_player_x", "hoop_player_y")

FONT_SIZE = 7.5
"""Font size of a zone's numbers, in points."""


class Shots:
    """The shots that can be drawn, and a note about the others."""

    def __init__(
        self,
        rows: Rows,
        court: Rules | Court,
        required: tuple[str, ...],
        team: One | None,
        player: One | None,
        teams: Named | None,
        players: Named | None,
    ) -> None:
        options = {"team_id": team, "player_id": player}
        columns = Columns(rows, "shots", [*required, *(name for name, value in options.items() if value is not None)])
        columns.check_once("shots", ("player_id", "occurred_at", "hoop_player_x", "hoop_player_y"))
        data = {name: columns.numbers(name) for name in {*required, *options}}
        labels = columns.team_names(teams)
        # Finding a player's name takes time, and only the title needs it.
        people = {} if player is None else columns.player_names(players)
        player_id = chosen_id("player", player, data["player_id"], people)
        ids = {"team_id": chosen_id("team", team, data["team_id"], labels), "player_id": player_id}
        is_selected = np.ones(len(data["team_id"]), dtype=bool)
        for name, value in ids.items():
            if value is not None:
                is_selected &= data[name] == value
        is_complete = is_selected & np.all([np.isfinite(data[name]) for name in required], axis=0)
        inside = is_complete & on_half(rules(court), data["hoop_player_x"], data["hoop_player_y"])
        self._data: dict[str, Numbers] = {name: column[inside] for name, column in data.items()}
        self.openness = columns.texts("openness")[inside]
        self.incomplete = int(is_selected.sum() - is_complete.sum())
        self.outside = int(is_complete.sum() - inside.sum())
        team_labels = [team_label(team, labels) for team in teams_of(self["team_id"])]
        self.title = " and ".join(team_labels) if len(team_labels) < 3 else f"{len(team_labels)} teams"
        if player_id is not None:
            player_label = plain(people.get(player_id, f"player {player_id}"))
            self.title = ", ".join(filter(None, [player_label, self.title]))

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


@draws
def shot_chart(
    shots: Rows,
    ax: Axes | None = None,
    kind: Literal["scatter", "hexbin", "heatmap", "zones"] = "scatter",
    *,
    court: Rules | Court = "college",
    team: One | None = None,
    player: One | None = None,
    teams: Named | None = None,
    players: Named | None = None,
    color: Literal["make", "openness"] = "make",
    cell: float = 800.0,
    min_count: int = 2,
    labels: bool = False,
    **options: Any,
) -> Axes:
    """Draw shots on a half court, as makes and misses or by place.

    Shots at both baskets are drawn on one half. Shots without a required value or from outside this half are left out;
    the note under the court gives their number.

    Parameters:
        shots: the table `shots`; required are `hoop_player_x`, `hoop_player_y`, `is_make`, and `points` for "hexbin".
        ax: default: new axes.
        kind: "scatter": circles and crosses. "hexbin": the size of a hexagon is the number of attempts, its colour the
            points per shot (not adjusted for their number). "heatmap": the density of shots. "zones": like `zones`.
        court: the court; see `court`.
        team, player: only the shots of this team or player: an id, a name by any of its words, or a table of one, such
            as `client.find_team("mariners")`.
        teams, players: names by id, or a roster; default: names in the body or in columns such as `team_name`, or the
            ids.
        color: "openness" colours the shots of `Tracking.defenders` by how open they were; "scatter" only.
        cell: width of a hexagon, in millimetres.
        min_count: hexagons with fewer shots are grey dots, because few shots say little.
        labels: write the made and attempted shots in each hexagon; with cells of 1,200 mm or more, these can be read.
        options: for matplotlib's artist: `scatter`, `PolyCollection`, `imshow` or `text`, such as `alpha=0.5`.

    Raises `ValueError` for a missing column, which it names, and for a team or player that is not among the shots.

    >>> axes = sideline.plot.shot_chart(client.shots(session_id), kind="hexbin", team="mariners")
    >>> axes.get_title(loc="left")
    'Elkhorn Mariners'
    """
    _check_arguments(kind, color, cell, min_count, labels=labels)
    if kind == "zones":
        return zones(shots, ax, court=court, team=team, player=player, teams=teams, players=players, **options)
    required = (*FRAME, "is_make", "points") if kind == "hexbin" else (*FRAME, "is_make")
    if color == "openness":
        # A column of texts, so that it is no number of `Shots`.
        Columns(shots, "shots", ["openness"])
    selection = Shots(shots, court, required, team, player, teams, players)
    ax = draw_court(ax, court)
    notes: list[str] = []
    if not len(selection):
        nothing(ax, "shots")
    elif color == "openness":
        notes += _openness_marks(ax, selection, options)
    elif kind == "scatter":
        _marks(ax, selection, options)
    elif kind == "heatmap":
        notes += _heat(ax, selection, rules(court), options)
    else:
        notes += _hexagons(ax, selection, rules(court), cell, min_count, options, labels=labels)
    return _set_title(ax, selection, *notes)


def _check_arguments(kind: str, color: str, cell: float, min_count: int, *, labels: bool) -> None:
    if kind not in ("scatter", "hexbin", "heatmap", "zones"):
        raise ValueError(
            f"kind is {kind!r}; it must be one of scatter, hexbin, heatmap, zones; court= selects the court"
        )
    check_count("min_count", min_count)
    if not (is_number(cell) and 0 < cell < np.inf):
        raise ValueError(f"cell is {cell!r}; it must be a number of millimetres above 0")
    if color not in ("make", "openness") or (color == "openness" and kind != "scatter"):
        raise ValueError(f'color is {color!r}; it must be "make", or "openness" with kind="scatter"')
    if labels and kind != "hexbin":
        raise ValueError('labels=True writes in hexagons: pass kind="hexbin"; kind="zones" always has labels')


def _set_title(ax: Axes, shots: Shots, *notes: str) -> Axes:
    ax.set_title(shots.title, loc="left", fontsize=11)
    # A label instead of a text: layout engines make room for it.
    ax.set_xlabel(shots.note(*notes), fontsize=8, color="0.35")
    return fit(ax)


def _marks(ax: Axes, shots: Shots, options: dict[str, Any]) -> None:
    x, y, is_make = shots["hoop_player_x"], shots["hoop_player_y"], shots["is_make"] == 1
    # Misses first: a make on top of one stays visible, and a cross shows around a circle.
    misses: dict[str, Any] = {
        "s": 22,
        "marker": "x",
        "c": MISS,
        "linewidths": 1.1,
        "label": "miss",
        "zorder": 2,
        **options,
    }
    makes: dict[str, Any] = {
        "s": 24,
        "facecolors": MAKE,
        "edgecolors": "white",
        "linewidths": 0.5,
        "label": "make",
        "zorder": 3,
    }
    ax.scatter(x[~is_make], y[~is_make], **misses)
    ax.scatter(x[is_make], y[is_make], **makes | options)
    ax.legend(loc="upper right", fontsize=8, frameon=False, handletextpad=0.2, borderaxespad=1.2)


def _openness_marks(ax: Axes, shots: Shots, options: dict[str, Any]) -> list[str]:
    """Draw makes as circles and misses as crosses, in the colour of their openness; return notes about the others."""
    x, y, is_make = shots["hoop_player_x"], shots["hoop_player_y"], shots["is_make"] == 1
    for name, colour in OPENNESS.items():
        of_kind = shots.openness == name
        makes = int((of_kind & is_make).sum())
        label = f"{name.replace('_', ' ')}: {makes} of {int(of_kind.sum())}"
        for is_shown, marker in ((of_kind & ~is_make, "x"), (of_kind & is_make, "o")):
            look: dict[str, Any] = {"s": 26, "c": colour, "marker": marker, "linewidths": 1.1, "zorder": 3}
            ax.scatter(x[is_shown], y[is_shown], **look | {"label": label if marker == "o" else None} | options)
    ax.legend(loc="upper right", fontsize=8, frameon=False, handletextpad=0.2, borderaxespad=1.2)
    unknown_count = int((shots.openness == None).sum())  # noqa: E711
    is_few = len(shots) - unknown_count < FEW_SHOTS
    return [
        f"circle: make, cross: miss{'; few shots' if is_few else ''}",
        *([f"{unknown_count} with unknown defender, left out"] if unknown_count else []),
    ]


def _floor(ax: Axes, dimensions: Court) -> Rectangle:
    """Draw the half court; filled shapes end at its lines."""
    place = (-dimensions.width / 2, -dimensions.baseline_to_hoop)
    return Rectangle(place, dimensions.width, dimensions.length / 2, transform=ax.transData)


def _hexagons(
    ax: Axes, shots: Shots, dimensions: Court, cell: float, min_count: int, options: dict[str, Any], *, labels: bool
) -> list[str]:
    """Draw the hexagons; return a note if any have too few shots."""
    centres, cell_of_shot = hexagons(shots["hoop_player_x"], shots["hoop_player_y"], cell)
    count = np.bincount(cell_of_shot)
    worth = np.bincount(cell_of_shot, weights=shots["points"]) / count
    # Without a bound, the cell under the hoop would turn all others into dots.
    max_count = max(float(min_count), 2.0, float(np.quantile(count, 0.95)))
    size = _size(count, max_count)
    enough = count >= min_count
    colours = np.where(enough[:, None], EFFICIENCY.to_rgba(worth), (0.75, 0.75, 0.75, 1.0))
    size = np.where(enough, size, 0.2)
    look = {
        "facecolors": colours,
        "edgecolors": "0.35",
        "linewidths": np.where(enough, 0.4, 0.0),
        "zorder": 2,
        **options,
    }
    collection = PolyCollection(list(_shapes(centres, size, cell)), **look)
    ax.add_collection(collection)
    collection.set_clip_path(_floor(ax, dimensions))
    if labels:
        makes = np.bincount(cell_of_shot, weights=shots["is_make"]).astype(int)
        _hexagon_labels(ax, centres[enough], makes[enough], count[enough], cell)
    efficiency_scale(ax)
    _size_key(ax, dimensions, cell, min_count, max_count)
    return [] if enough.all() else [f"grey: fewer than {min_count} shots"]


def _size(count: npt.NDArray[Any], max_count: float) -> Numbers:
    return np.asarray(0.3 + 0.65 * np.sqrt(np.minimum(count, max_count) / max_count), dtype=np.float64)


def _shapes(centres: Numbers, size: Numbers, cell: float) -> Numbers:
    angles = np.deg2rad(np.arange(30, 390, 60))
    corner = np.column_stack([np.cos(angles), np.sin(angles)]) * cell / np.sqrt(3)
    return np.asarray(centres[:, None, :] + size[:, None, None] * corner[None, :, :], dtype=np.float64)


def _hexagon_labels(ax: Axes, centres: Numbers, makes: npt.NDArray[Any], count: npt.NDArray[Any], cell: float) -> None:
    texts = [f"{makes_here}/{attempts}" for makes_here, attempts in zip(makes.tolist(), count.tolist(), strict=True)]
    # A digit is 0.64 of its size wide.
    pixels = cell / _pixel(ax) / (0.64 * max(map(len, texts), default=1))
    size = min(FONT_SIZE, 0.95 * pixels * 72 / ax.figure.dpi)
    outline = [Stroke(linewidth=1.6, foreground="white"), Normal()]
    for (x, y), text in zip(centres.tolist(), texts, strict=True):
        words: dict[str, Any] = {"ha": "center", "va": "center", "path_effects": outline, "gid": "hexagon label"}
        ax.text(x, y, text, fontsize=size, zorder=3, **words)


def _size_key(ax: Axes, dimensions: Court, cell: float, min_count: int, max_count: float) -> None:
    """Draw three sizes with their numbers of shots, in the free far corner."""
    counts = sorted({max(1, min_count), round((max(1, min_count) + max_count) / 2), math.ceil(max_count)})
    step = max(cell * 1.3, 1100.0)
    x = -dimensions.width / 2 + 900 + step * np.arange(len(counts))
    y = reach(dimensions) - 1250
    places = np.column_stack([x, np.full(len(counts), y)])
    key = _shapes(places, _size(np.array(counts), max_count), cell)
    look: dict[str, Any] = {
        "facecolors": "white",
        "edgecolors": "0.35",
        "linewidths": 0.6,
        "zorder": 2,
        "gid": "size_key",
    }
    ax.add_collection(PolyCollection(list(key), **look))
    words: dict[str, Any] = {"fontsize": 7, "ha": "center", "zorder": 2}
    for place, count in zip(x.tolist(), counts, strict=True):
        ax.text(place, y - 0.62 * cell - 330, f"{count}{'+' if count == counts[-1] else ''}", va="center", **words)
    ax.text(float(x.mean()), y + 0.62 * cell + 280, "shots", va="center", **words)


def _heat(ax: Axes, shots: Shots, dimensions: Court, options: dict[str, Any]) -> list[str]:
    """Draw the density of shots, smoothed by a Gaussian of two feet; return a note."""
    step, width = 200.0, 600.0
    low, high = -dimensions.baseline_to_hoop, reach(dimensions)
    across = np.arange(-dimensions.width / 2, dimensions.width / 2 + step, step)
    along = np.arange(low, high + step, step)
    count = np.histogram2d(shots["hoop_player_y"], shots["hoop_player_x"], bins=[along, across])[0]
    ticks = np.arange(-3 * width, 3 * width + step, step)
    kernel = np.exp(-0.5 * (ticks / width) ** 2)
    for axis in (0, 1):
        count = np.apply_along_axis(np.convolve, axis, count, kernel, "same")
    # Otherwise the area at the hoop would hide everything else.
    top = float(np.quantile(count[count > 0.02 * count.max()], 0.97))
    extent = (float(across[0]), float(across[-1]), float(along[0]), float(along[-1]))
    look: dict[str, Any] = {
        "cmap": DENSITY,
        "vmin": 0,
        "vmax": top,
        "alpha": 0.85,
        "interpolation": "bilinear",
        "zorder": 0.7,
    }
    limits = ax.get_xlim(), ax.get_ylim()
    image = ax.imshow(count, origin="lower", extent=extent, **look | options)
    image.set_clip_path(_floor(ax, dimensions))
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal")
    return ["darker: more of the shots"]


def hexagons(x: Numbers, y: Numbers, cell: float) -> tuple[Numbers, npt.NDArray[np.intp]]:
    """Return the centres of the hexagons that contain points, point up, one of them at the origin, and for each point
    the position of its hexagon."""
    high = cell * math.sqrt(3) / 2
    # The centres form two rectangular grids; the nearest centre of both is that of the point's hexagon.
    candidates = []
    for shift in (0.0, 0.5):
        column, row = np.round(x / cell - shift) + shift, 2 * (np.round(y / (2 * high) - shift) + shift)
        candidates.append(np.column_stack([column * cell, row * high]))
    points = np.column_stack([x, y])
    away = [np.hypot(*(points - candidate).T) for candidate in candidates]
    nearest = np.where((away[0] <= away[1])[:, None], candidates[0], candidates[1])
    centres, cell_of_point = np.unique(np.asarray(np.round(nearest, 6), dtype=np.float64), axis=0, return_inverse=True)
    return centres, cell_of_point.reshape(-1)


@draws
def zones(
    shots: Rows,
    ax: Axes | None = None,
    *,
    court: Rules | Court = "college",
    advanced: bool = False,
    team: One | None = None,
    player: One | None = None,
    teams: Named | None = None,
    players: Named | None = None,
    **options: Any,
) -> Axes:
    """Draw makes, attempts and percentage of each of the service's zones on a half court.

    The service numbers its zones (1 to 14, advanced 1 to 23) but does not publish their borders, so none are drawn.
    Each zone is at the mean place of its own shots, the dots; zones that would overlap are moved apart.

    Parameters:
        shots: the table `shots`; required are `hoop_player_x`, `hoop_player_y`, `is_make`, `points`, `zone`.
        advanced: use `advanced_zone`.
        ax, court, team, player, teams, players: as in `shot_chart`.
        options: for matplotlib's `text`.

    Raises the errors of `shot_chart`.

    >>> sideline.plot.zones(client.shots(session_id)).get_title(loc="left")
    'Elkhorn Mariners and Harrow Rangers'
    """
    column = "advanced_zone" if advanced else "zone"
    selection = Shots(shots, court, (*FRAME, "is_make", "points", column), team, player, teams, players)
    ax = draw_court(ax, court)
    if not len(selection):
        nothing(ax, "shots")
        return _set_title(ax, selection)
    ax.scatter(selection["hoop_player_x"], selection["hoop_player_y"], s=3, c="0.6", linewidths=0, zorder=1.5)
    _write_zones(ax, selection, column, options)
    efficiency_scale(ax)
    return _set_title(ax, selection, "zone borders are not published:\neach zone is at the mean place of its shots")


def _write_zones(ax: Axes, shots: Shots, column: str, options: dict[str, Any]) -> None:
    """Write the numbers of each zone near the mean place of its shots."""
    numbers, zone_of_shot = np.unique(shots[column], return_inverse=True)
    count = np.bincount(zone_of_shot)
    sums: dict[str, Any] = {
        name: np.bincount(zone_of_shot, weights=shots[name]) for name in (*FRAME, "is_make", "points")
    }
    centres = np.column_stack([sums["hoop_player_x"] / count, sums["hoop_player_y"] / count])
    colours = EFFICIENCY.to_rgba(sums["points"] / count)
    makes = sums["is_make"].astype(int)
    labels = [f"{100 * make / shot:.0f}%\n{make}/{shot}" for make, shot in zip(makes, count, strict=True)]
    places = separate(centres, _label_sizes(ax, labels))
    for position, (zone, centre) in enumerate(zip(numbers, places, strict=True)):
        ax.text(
            float(centre[0]),
            float(centre[1]),
            labels[position],
            gid=f"{column} {int(zone)}",
            **_label_look(colours[position]) | options,
        )


def _label_look(colour: Any) -> dict[str, Any]:
    box = {"boxstyle": "round,pad=0.3", "facecolor": colour, "edgecolor": "0.35", "linewidth": 0.5}
    place = {"ha": "center", "va": "center", "zorder": 3}
    return {**place, "fontsize": FONT_SIZE, "linespacing": 1.05, "color": text_on(colour), "bbox": box}


def separate(places: Numbers, sizes: Numbers) -> Numbers:
    """Move boxes of these sizes as little as possible so that none overlap."""
    result = places.astype(np.float64)
    # The boxes of all zones settle within a few rounds.
    for _ in range(100):
        rests = True
        for first in range(len(result)):
            for second in range(first):
                away = result[first] - result[second]
                overlap = (sizes[first] + sizes[second]) / 2 - np.abs(away)
                if overlap.min() <= 0:
                    continue
                rests, axis = False, int(overlap.argmin())
                step = (overlap[axis] / 2 + 1) * (1 if away[axis] >= 0 else -1)
                result[first, axis] += step
                result[second, axis] -= step
        if rests:
            break
    return result


def _label_sizes(ax: Axes, labels: list[str]) -> Numbers:
    """Return widths and heights of boxes with numbers, in the court's millimetres on the current axes."""
    # A digit is 0.64 of its size wide; the box adds 0.3 on each side, plus some space between two.
    letters = np.array([(0.64 * max(map(len, label.split("\n"))) + 0.8, 3.0) for label in labels])
    return np.asarray(letters * FONT_SIZE * ax.figure.dpi / 72 * _pixel(ax), dtype=np.float64)


def _pixel(ax: Axes) -> float:
    """Return the width of a pixel on the court, in millimetres."""
    extent = ax.get_window_extent()
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    return float(max((right - left) / extent.width, (high - low) / extent.height))
