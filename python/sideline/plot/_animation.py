"""A window of a `Tracking` as an animation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .._lazy import LazyModule
from .._rows import is_number, replaced_file, replaced_path
from ._axes import nothing
from ._court import COURTS, court as draw_court
from ._data import Columns, Named, Numbers, plain, teams_of
from ._look import BALL, team_colours

if TYPE_CHECKING:
    from .. import _answers as _tracking
else:
    _tracking = LazyModule("sideline._answers")

MAX_FRAMES = 1500
"""A longer animation would take minutes and hundreds of megabytes."""

TRAIL_S = 1.0
"""Seconds of the ball's trail."""


class Animation:
    """An animation: shown by a notebook as HTML, written as HTML or as a GIF.

    >>> tracking = client.tracking(game_id)
    >>> animation = sideline.plot.animate(tracking.window(tracking.defenders().to_dicts()[0], before=1, after=1), fps=4)
    >>> isinstance(animation, sideline.plot.Animation)
    True
    """

    _scene: Any
    # PillowWriter declares an int, and takes fractions.
    _fps: Any

    def __init__(self, scene: Any, fps: float) -> None:
        self._scene, self._fps = scene, fps

    def _render(self) -> Any:
        scene = self._scene
        frames = max(scene.count, 1)
        return FuncAnimation(scene.figure, scene.draw, frames=frames, blit=False, interval=1000 / self._fps)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the animation as HTML with controls, and write it to a file if one is named.

        >>> tracking = client.tracking(game_id)
        >>> window = tracking.window(tracking.defenders().to_dicts()[0], before=1, after=1)
        >>> "<img" in sideline.plot.animate(window, fps=4).to_html()
        True
        """
        html: str = self._render().to_jshtml(fps=self._fps, default_mode="loop")
        if path is not None:
            with replaced_file(path) as file:
                file.write(html)
        return html

    def to_gif(self, path: str | os.PathLike[str]) -> None:
        """Write the animation as a GIF.

        >>> import tempfile
        >>> tracking = client.tracking(game_id)
        >>> window = tracking.window(tracking.defenders().to_dicts()[0], before=1, after=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sideline.plot.animate(window, fps=4).to_gif(f"{folder}/shot.gif")
        """
        with replaced_path(path, ".gif") as temporary:
            self._render().save(temporary, writer=PillowWriter(fps=self._fps))

    def _repr_html_(self) -> str:
        return self.to_html()


def animate(
    window: _tracking.Tracking, *, fps: float = 10.0, players: Named | None = None, size: float = 5.0
) -> Animation:
    """Animate a window of a `Tracking`: names, the trail of the ball, and the clock.

    Parameters:
        window: of `Tracking.window`.
        fps: pictures a second, at the speed of the game.
        players: labels of players by id, or a roster; default: those of the window, or the id.
        size: width in inches.

    Raises `ValueError` for a window of more than 1,500 pictures.

    >>> tracking = client.tracking(game_id)
    >>> window = tracking.window(tracking.defenders().to_dicts()[0])
    >>> sideline.plot.animate(window, fps=4).to_html()[:1] == "\\n"
    True
    """
    if not hasattr(window, "frames"):
        raise TypeError(f"window is that of Tracking.window, not {type(window).__name__}")
    if not (is_number(fps) and 0 < fps <= 60):
        raise ValueError(f"fps is {fps!r}; it must be more than 0 and at most 60")
    if not (is_number(size) and 0 < size < 100):
        raise ValueError(f"size is {size!r}; it must be a width in inches, such as 5")
    scene = _Scene(window, fps, players, size)
    if scene.count > MAX_FRAMES:
        raise ValueError(
            f"the window has {scene.count} pictures; at most {MAX_FRAMES} can be drawn: lower fps, or window()"
        )
    return Animation(scene, fps)


class _Scene:
    """The artists of an animation, and the positions of each picture in millimetres."""

    def __init__(self, window: _tracking.Tracking, fps: float, players: Named | None, size: float) -> None:
        columns = Columns(window.frames(rate=fps), "tracking_frames", ["frame", "x_m", "y_m"])
        self._frame = columns.numbers("frame")
        self._x, self._y = 1000 * columns.numbers("x_m"), 1000 * columns.numbers("y_m")
        self._team, self._player = columns.numbers("team_id"), columns.numbers("player_id")
        self._clock, self._period = columns.numbers("game_clock_s"), columns.texts("period")
        self.count = int(self._frame.max()) + 1 if len(self._frame) else 0
        self._trail = max(1, round(TRAIL_S * fps))
        # A layout engine would measure every picture.
        self.figure = Figure(figsize=(size, 1.85 * size), dpi=80)
        FigureCanvasAgg(self.figure)
        self._ax = draw_court(
            self.figure.add_axes((0.02, 0.01, 0.96, 0.95)), window.court or COURTS["college"], half=False
        )
        names = columns.player_names(window.players if players is None else players)
        self._labels = {
            player_id: _short(names.get(int(player_id), str(int(player_id))))
            for player_id in set(self._player[np.isfinite(self._player)])
        }
        teams = teams_of(self._team)
        colours = team_colours(teams, None)
        self._dots = [self._ax.plot([], [], "o", color=fill, markersize=11, zorder=3)[0] for fill in colours]
        self._teams, self._texts = (
            teams,
            {player_id: _text(self._ax, label) for player_id, label in self._labels.items()},
        )
        self._line = self._ax.plot([], [], color="0.25", linewidth=1.5, alpha=0.6, zorder=4)[0]
        self._ball = self._ax.plot([], [], "o", color=BALL, markeredgecolor="black", markersize=6, zorder=5)[0]
        if not self.count:
            nothing(self._ax, "positions")

    def draw(self, number: int) -> list[Any]:
        is_now = self._frame == number
        for dots, team in zip(self._dots, self._teams, strict=True):
            is_own = is_now & (self._team == team)
            dots.set_data(self._x[is_own], self._y[is_own])
        for player, text in self._texts.items():
            is_own = is_now & (self._player == player)
            text.set_visible(bool(is_own.any()))
            if is_own.any():
                text.set_position((float(self._x[is_own][0]), float(self._y[is_own][0]) + 500))
        is_ball = ~np.isfinite(self._player)
        self._ball.set_data(self._x[is_now & is_ball], self._y[is_now & is_ball])
        trail = is_ball & (self._frame <= number) & (self._frame > number - self._trail)
        self._line.set_data(self._x[trail], self._y[trail])
        self._ax.set_title(self._title(is_now), loc="left", fontsize=10)
        return [*self._dots, self._line, self._ball]

    def _title(self, is_now: np.ndarray[Any, Any]) -> str:
        clocks: Numbers = self._clock[is_now]
        clocks = clocks[np.isfinite(clocks)]
        label = next((plain(period) for period in self._period[is_now] if period), "")
        clock = f"{int(clocks[0] // 60)}:{clocks[0] % 60:04.1f}" if len(clocks) else ""
        return " ".join(filter(None, (label, clock)))


def _short(name: str) -> str:
    """Return the last word of a name: a full one would cover the neighbours."""
    return plain(name.split()[-1] if name.split() else name)


def _text(ax: Axes, label: str) -> Any:
    return ax.text(0, 0, label, ha="center", va="bottom", fontsize=6.5, zorder=6, clip_on=True)
