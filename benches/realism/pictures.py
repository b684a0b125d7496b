"""Pictures: each figure beside the real one, and ten possessions on the court."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from reference import Numbers
from season import NOW, Game, Possession, read

import sideline
import sideline.plot

REAL_COLOUR, OWN_COLOUR = "0.2", "#d1495b"
ATTACK, DEFENCE, BALL = "#d1495b", "#2e6f95", "#e3a018"
COUNT = 10


def distributions(path: Path, title: str, figures: dict[str, tuple[Numbers, list[float]]], columns: int = 8) -> None:
    """Draw the cumulative distributions of figures, simulated and real."""
    rows = -(-len(figures) // columns)
    figure = Figure(figsize=(2.0 * columns, 1.55 * rows + 0.5), dpi=72)
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, (name, (values, grid)) in zip(axes, figures.items(), strict=False):
        steps = np.linspace(0, 1, 101)
        ax.plot(grid, steps, color=REAL_COLOUR, linewidth=1.4)
        ax.plot(np.quantile(values, steps), steps, color=OWN_COLOUR, linewidth=1.4)
        low, high = np.quantile(grid, [0.005, 0.995])
        margin = 0.15 * (high - low) or 1
        ax.set_xlim(low - margin, high + margin)
        ax.set_title("\n".join(wrap(name.replace("team-game: ", "").replace("half-court: ", ""))), fontsize=7)
        ax.tick_params(labelsize=6, length=2)
        ax.set_yticks([])
    for ax in axes[len(figures) :]:
        ax.set_axis_off()
    figure.suptitle(f"{title}: real (black) and simulated (red), cumulative", fontsize=10)
    figure.tight_layout(rect=(0, 0, 1, 0.99))
    save(figure, path)


def wrap(text: str, width: int = 30) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines[:2]


def save(figure: Figure, path: Path) -> None:
    """Write a picture of few colours, which takes a third of the bytes."""
    from PIL import Image

    figure.savefig(path)
    with Image.open(path) as image:
        image.convert("RGB").quantize(48).save(path, optimize=True)


def possessions(path: Path, seed: int) -> None:
    """Draw ten possessions of a season's first game, as far apart as they can be."""
    with (
        sideline.Simulator(seed=seed, teams=16, games=64, now=NOW, location_rate=10) as service,
        service.client() as client,
    ):
        game = read(client, service.games[0], True)
    items = [item for item in game.possessions if item.events and item.end_clock < item.start_clock]
    selection = items[len(items) // (2 * COUNT) :: len(items) // COUNT][:COUNT]
    figure = Figure(figsize=(15, 10.4), dpi=72)
    FigureCanvasAgg(figure)
    for ax, item in zip(figure.subplots(2, COUNT // 2).ravel(), selection, strict=True):
        draw_possession(ax, game, item)
    figure.suptitle(
        "Ten possessions: attackers (red), defenders (blue), ball (yellow); rings at the start, dots at the last event",
        fontsize=10,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.99))
    save(figure, path)


def draw_possession(ax: Axes, game: Game, item: Possession) -> None:
    last = max(event.at for event in item.events)
    rows = game.frames[item.session].with_columns(pl.col("t").dt.epoch("ms"))
    rows = rows.filter((pl.col("t") >= item.start) & (pl.col("t") <= last)).sort("t")
    sideline.plot.court(ax, half=False)
    colours = {item.team: ATTACK, game.other(item.team): DEFENCE}
    for (player, team), track in rows.group_by("player_id", "team_id", maintain_order=True):
        colour = BALL if player is None else colours[int(team)]
        x, y = track["x"].to_numpy(), track["y"].to_numpy()
        ax.plot(x, y, color=colour, linewidth=0.9, alpha=0.8, linestyle=":" if player is None else "-", zorder=3)
        ax.plot(x[:1], y[:1], "o", color=colour, markersize=4, fillstyle="none", zorder=4)
        ax.plot(x[-1:], y[-1:], "o", color=colour, markersize=5, zorder=5)
    kinds = ", ".join(sorted({event.kind for event in item.events if event.at == last}))
    ax.set_title(f"{item.start_clock - item.end_clock:.0f} s to {kinds}", fontsize=8)
    ax.set_xlabel("")
    ax.set_ylabel("")
    ax.set_xticks([])
    ax.set_yticks([])
