"""Follows a live stream as a scoreboard, and shows it in a terminal with rich."""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING

from sideline._access import core_of_stream, title_of
from sideline._scoreboard import GameView, Scoreboard, TeamView
from sideline.live import LiveBoxScore, LiveStream

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = ["can_redraw", "follow", "in_terminal", "render"]

INTERVAL = 0.25
"""Seconds between two views, at least."""
TERMINAL_NOTICES = 3
TERMINAL_PLAYS = 6
WIDE = 150
"""Columns of a terminal in which two box scores stand side by side."""

COLOURS = ("cyan", "yellow")


def follow(
    stream: LiveStream,
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


def in_terminal(stream: LiveStream, on_item: Callable[[object], object], is_stopped: Callable[[], bool]) -> None:
    """Show a stream in the terminal until it ends or is stopped; the last state stays there."""
    from rich.console import Console
    from rich.live import Live

    board = Scoreboard(title_of(stream), LiveBoxScore())
    console = Console()

    def add(item: object) -> None:
        board.add(item)
        on_item(item)

    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as screen:

        def show() -> None:
            screen.update(render(board.view(stream.state, stream.stats), console.width), refresh=True)

        try:
            follow(stream, add, show, is_stopped)
        finally:
            # The last state is printed whole.
            screen.vertical_overflow = "visible"


def render(view: GameView, width: int) -> "RenderableType":
    """Return a view as something that rich prints; texts of the service are never read as markup."""
    from rich.columns import Columns
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [_score(view), _status(view)]
    for notice in view["notices"][:TERMINAL_NOTICES]:
        parts.append(Text(notice["text"], style="bold red" if notice["kind"] == "gap" else "dim"))
    boxes = [_box(team, view["columns"], COLOURS[place]) for place, team in enumerate(view["teams"])]
    parts.append(Columns(boxes, padding=(0, 3)) if width >= WIDE else Group(*boxes))
    for play in view["plays"][:TERMINAL_PLAYS]:
        parts.append(Text.assemble((f"{play['at']:<12} ", "dim"), play["text"], (f"  {play['team']}", "dim")))
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
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(team["name"], f"bold {colour}"), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("Player", footer="Team", max_width=24, no_wrap=True)
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for row in team["rows"]:
        table.add_row(Text(row["name"]), *map(Text, row["values"]))
    if team["total"] is not None:
        table.add_section()
        table.add_row(Text("Team"), *map(Text, team["total"]), style="bold")
    return table
