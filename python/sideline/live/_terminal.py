"""Follows a live stream as a scoreboard, and shows it in a terminal with rich."""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING

from .._client import core_of_stream, title_of
from ._box_score import LiveBoxScore
from ._scoreboard import GameView, Scoreboard, TeamView

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ._streams import LiveStream

__all__ = ["can_redraw", "follow", "in_terminal", "render"]

INTERVAL = 0.25
"""Seconds between two views, at least."""
TERMINAL_NOTICES = 3
TERMINAL_PLAYS = 6
WIDE = 145
"""Columns of a terminal in which two box scores stand side by side."""

COLOURS = ("cyan", "yellow")


def follow(
    stream: "LiveStream",
    add: Callable[[object], object],
    show: Callable[[], object],
    is_stopped: Callable[[], bool],
    now: Callable[[], float] = monotonic,
) -> None:
    """Take the items of a stream until it ends or is stopped, and show the state after at most an interval."""
    core = core_of_stream(stream)
    core.open()
    show()
    until = now() + INTERVAL
    try:
        while not is_stopped():
            item = core.next_within(max(0.0, until - now()))
            # An item may have arrived before the stream ended.
            if item is None and core.ended and (item := core.take()) is None:
                break
            if item is not None:
                add(item)
            if now() >= until:
                show()
                until = now() + INTERVAL
    finally:
        show()


def can_redraw() -> bool:
    """Return whether standard output is a terminal that can be redrawn, and rich is installed."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and find_spec("rich") is not None


def in_terminal(
    stream: "LiveStream", score: LiveBoxScore, on_item: Callable[[object], object], is_stopped: Callable[[], bool]
) -> None:
    """Show a stream in the terminal until it ends or is stopped; the last state stays there."""
    from rich.console import Console
    from rich.live import Live

    board = Scoreboard(title_of(stream), score)
    console = Console()

    def add(item: object) -> None:
        board.add(item)
        on_item(item)

    def shown() -> "RenderableType":
        return render(board.view(stream.state, stream.stats), console.width)

    # While it runs, it is cut at the height of the terminal; the last state is printed whole.
    with Live(console=console, auto_refresh=False, transient=True) as screen:
        try:
            follow(stream, add, lambda: screen.update(shown(), refresh=True), is_stopped)
        finally:
            last = shown()
    console.print(last)


def render(view: GameView, width: int) -> "RenderableType":
    """Return a view as something that rich prints; texts of the service are never read as markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [_score(view), _status(view)]
    for notice in view["notices"][:TERMINAL_NOTICES]:
        parts.append(Text(notice["text"], style="bold red" if notice["kind"] == "gap" else "dim"))
    boxes = [_box(team, view["columns"], COLOURS[place]) for place, team in enumerate(view["teams"])]
    if width >= WIDE:
        side_by_side = Table.grid(padding=(0, 3))
        side_by_side.add_row(*boxes)
        boxes = [side_by_side]
    for box in boxes:
        parts += [Text(), box]
    parts.append(Text())
    for play in view["plays"][:TERMINAL_PLAYS]:
        parts.append(Text.assemble((f"{play['at']:<12} ", "dim"), f"{play['text']}  ", (play["team"], "dim")))
    return Group(*parts)


def _score(view: GameView) -> "RenderableType":
    from rich.text import Text

    line = Text()
    for place, team in enumerate(view["teams"]):
        line.append("   " if place else "").append(f"{team['name']} ", COLOURS[place])
        line.append("–" if team["score"] is None else str(team["score"]), f"bold {COLOURS[place]}")
    clock = " ".join(part for part in (view["period"], view["clock"], "ended" if view["is_over"] else None) if part)
    return line.append(f"   {clock}" if line else clock, "bold") if line or clock else Text(view["title"], "bold")


def _status(view: GameView) -> "RenderableType":
    from rich.text import Text

    line = Text(view["state"], "green" if view["state"] == "connected" else "bold red")
    line.append(f" · {view['updates']:,} update{'s' * (view['updates'] != 1)}", "dim")
    if view["gaps"]:
        line.append(f" · {view['gaps']} gap{'s' * (view['gaps'] != 1)}", "bold red")
    return line.append(f" · last update {view['last']}", "dim") if view["last"] else line


def _box(team: TeamView, columns: list[str], colour: str) -> "Table":
    from rich.table import Table
    from rich.text import Text

    title = Text(team["name"], f"bold {colour}")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("Player", max_width=24, no_wrap=True)
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for row in team["rows"]:
        table.add_row(Text(row["name"]), *map(Text, row["values"]))
    if team["total"] is not None:
        table.add_row(Text("Team"), *map(Text, team["total"]), style="bold")
    return table
