"""Shows a live stream as a scoreboard in a terminal, with rich."""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .._client import title_of
from .._rows import count_text
from ._box_score import LiveBoxScore
from ._display import add_counted
from ._follow import follow
from ._scoreboard import GameView, Scoreboard, TeamView

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from ._streams import LiveStream

TERMINAL_NOTICES = 3
TERMINAL_PLAYS = 6
MAX_PLAYER = 24
"""The width of the column of names."""

MAX_WORD = 12
"""Characters of a word of the status, which is wrapped as a whole."""
WIDE = 145
"""Columns of a terminal in which two box scores stand side by side."""

COLOURS = ("cyan", "yellow")


def is_screen() -> bool:
    """Return whether standard output is a terminal that can be redrawn."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def can_redraw() -> bool:
    """Return whether standard output is a terminal that can be redrawn, and rich is installed."""
    return is_screen() and find_spec("rich") is not None


def in_terminal(
    stream: "LiveStream", score: LiveBoxScore, on_item: Callable[[object], object], is_stopped: Callable[[], bool]
) -> None:
    """Show a stream in the terminal until it ends or is stopped; the last state stays there."""
    from rich.console import Console
    from rich.live import Live

    board = Scoreboard(title_of(stream), score)
    console = Console()

    def render_board(height: int | None = None) -> "RenderableType":
        return render(board.view(stream.state, stream.stats), console.width, height)

    # While it runs, it has the height of the terminal; the last state is printed whole.
    with Live(console=console, auto_refresh=False, transient=True) as screen:
        try:
            screen.update(render_board(console.height), refresh=True)
            for item in follow(stream, is_stopped):
                if item is None:
                    screen.update(render_board(console.height), refresh=True)
                else:
                    add_counted(stream, score, item, board.add)
                    on_item(item)
        finally:
            last = render_board()
    console.print(last)


def render(view: GameView, width: int, height: int | None = None) -> "RenderableType":
    """Return a view as something that rich prints, in at most `height` lines: it says how many rows are left out.

    Texts of the service are never read as markup.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    is_wide = width >= WIDE
    status = _status(view)
    # The status may need several lines.
    free = None if height is None else height - len(status) // max(1, width - MAX_WORD)
    notices, plays, rows = _fit(view, free, is_wide=is_wide)
    parts: list[RenderableType] = [_score(view), status]
    for notice in view["notices"][:notices]:
        style = "yellow" if notice["kind"] == "gap" else "dim"
        parts.append(Text(notice["text"], style, no_wrap=True, overflow="ellipsis"))
    widths = _widths(view, rows)
    boxes = [_box(team, view["columns"], widths, COLOURS[place], rows) for place, team in enumerate(view["teams"])]
    if is_wide:
        side_by_side = Table.grid(padding=(0, 3))
        side_by_side.add_row(*boxes)
        boxes = [side_by_side]
    for box in boxes:
        parts += [Text(), box]
    left_out = sum(max(0, len(team["rows"]) - rows) for team in view["teams"])
    if left_out:
        parts.append(Text(f"{count_text(left_out, 'player')} left out: the terminal is too low", "yellow"))
    if plays:
        parts.append(Text())
    for play in view["plays"][:plays]:
        at, team = (f"{play['at']:<12} ", "dim"), (play["team"], "dim")
        line = Text.assemble(at, f"{play['text']}  ", team, no_wrap=True, overflow="ellipsis")
        parts.append(line)
    return Group(*parts)


def _fit(view: GameView, height: int | None, *, is_wide: bool) -> tuple[int, int, int]:
    """Return how many notices, plays, and players of each team fit in so many lines."""
    notices, plays = min(TERMINAL_NOTICES, len(view["notices"])), min(TERMINAL_PLAYS, len(view["plays"]))
    rows = max((len(team["rows"]) for team in view["teams"]), default=0)
    if height is None:
        return notices, plays, rows
    boxes = 1 if is_wide else len(view["teams"])

    def lines(notices: int, plays: int, rows: int) -> int:
        # Each box has a blank line, a title, a header and the total; one line says how many players are left out.
        return 3 + notices + boxes * (4 + rows) + (1 + plays if plays else 0)

    while lines(notices, plays, rows) > height and plays > 0:
        plays -= 1
    while lines(notices, plays, rows) > height and notices > 1:
        notices -= 1
    while lines(notices, plays, rows) > height and rows > 0:
        rows -= 1
    return notices, plays, rows


def _score(view: GameView) -> "RenderableType":
    from rich.text import Text

    line = Text()
    for place, team in enumerate(view["teams"]):
        line.append("   " if place else "").append(f"{team['name']} ", COLOURS[place])
        line.append("–" if team["score"] is None else str(team["score"]), f"bold {COLOURS[place]}")
    clock = " ".join(part for part in (view["period"], view["clock"], "ended" if view["is_over"] else None) if part)
    return line.append(f"   {clock}" if line else clock, "bold") if line or clock else Text(view["title"], "bold")


def _status(view: GameView) -> "Text":
    from rich.text import Text

    # As the style of the whole line, it would colour the rest too.
    line = Text().append(view["state"], {"connected": "green", "closed": "dim"}.get(view["state"], "bold red"))
    line.append(f" · {count_text(view['updates'], 'update')}", "dim")
    if view["stale"]:
        line.append(" · values may be missing", "bold red")
    if view["gaps"]:
        is_open = f", {view['open_gaps']} open" if view["open_gaps"] else ""
        # A final gap is not open, and not closed.
        open_gaps = is_open or ("" if view["stale"] else ", all closed")
        line.append(f" · {count_text(view['gaps'], 'gap')}{open_gaps}", "bold red" if view["open_gaps"] else "dim")
    if view["unreadable"]:
        line.append(f" · {count_text(view['unreadable'], 'row')} unreadable", "bold red")
    if view["left_out"]:
        line.append(f" · {count_text(view['left_out'], 'row')} left out", "bold red")
    return line.append(f" · last update {view['last']}", "dim") if view["last"] else line


def _widths(view: GameView, rows: int) -> list[int]:
    """Return the width of each column, so that those of both teams stand below each other."""
    lines = [[row["name"], *row["values"]] for team in view["teams"] for row in team["rows"][:rows]]
    lines += [["Team", *team["total"]] for team in view["teams"] if team["total"] is not None]
    columns = zip(["Player", *view["columns"]], *lines, strict=True)
    return [max(map(len, texts)) for texts in columns]


def _box(team: TeamView, columns: list[str], widths: list[int], colour: str, rows: int) -> "Table":
    from rich.table import Table
    from rich.text import Text

    title = Text(team["name"], f"bold {colour}")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("Player", min_width=min(MAX_PLAYER, widths[0]), max_width=MAX_PLAYER, no_wrap=True)
    for name, width in zip(columns, widths[1:], strict=True):
        table.add_column(Text(name), justify="right", no_wrap=True, min_width=width)
    for row in team["rows"][:rows]:
        table.add_row(Text(row["name"]), *map(Text, row["values"]))
    if team["total"] is not None:
        table.add_row(Text("Team"), *map(Text, team["total"]), style="bold")
    return table
