"""Displays a live stream: a table that refreshes in a notebook, lines elsewhere."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from .._client import core_of_stream, is_entered, is_notebook, title_of
from .._core import Update
from .._rows import align, count_text, notebook_html, shorten, table_part, visible
from ._box_score import LiveBoxScore
from ._follow import follow
from ._notices import Connected, Disconnected, Gap, Quiet, Recovered, Recovering
from ._stats import StreamStats

if TYPE_CHECKING:
    from ._streams import LiveStream

MAX_ROWS = 60
"""Rows of a box score that a notebook shows: two teams of thirty."""
MAX_NOTICES = 5
"""Number of notices shown, and of updates if there is no box score."""

COLUMNS: dict[str, tuple[str, ...]] = {
    "PTS": ("PTS",),
    "REB": ("REB",),
    "AST": ("AST",),
    "FG": ("FG", "FGA"),
    "3P": ("FG3", "FGA3"),
    "FT": ("FT", "FTA"),
    "TO": ("TO",),
    "STL": ("STL",),
    "BLK": ("BLK",),
    "FL": ("FL",),
}
"""Columns of basketball's box score, with one stat code, or with makes and attempts."""
MAX_OTHER_COLUMNS = 10
"""Number of columns shown of a sport without these codes."""


class View:
    """The visible state of a stream: its state, its last notices, the box score or the last updates."""

    def __init__(self, stream: "LiveStream", score: LiveBoxScore) -> None:
        self.stream = stream
        self.score = score
        self.notices: deque[str] = deque(maxlen=MAX_NOTICES)
        self.updates: deque[Update] = deque(maxlen=MAX_NOTICES)
        self.new_notices: list[str] = []
        """The notices that are not yet shown as lines."""

    def add(self, item: object) -> None:
        """Add an item of the stream."""
        add_counted(self.stream, self.score, item, self.score.feed)
        if isinstance(item, Update):
            self.updates.append(item)
            return
        text = describe_notice(item)
        self.notices.append(text)
        self.new_notices.append(text)

    def headline(self) -> str:
        """Return the stream's state in one line."""
        stats = self.stream.stats
        last = f", the last {format_clock(self.updates[-1].received_at)}" if self.updates else ""
        parts = [self.stream.state, f"{count_text(stats.updates, 'update')}{last}", *doubts(stats, self.score)]
        return f"{title_of(self.stream)}: {'; '.join(parts)}"

    def columns(self) -> list[str] | None:
        """Return the columns of the box score to show, or `None` if it has no rows yet."""
        table = self.score.table()
        if not table.num_rows:
            return None
        rows = table.to_dicts()
        codes = [code for column in stat_columns(rows).values() for code in column if code in rows[0]]
        # Messages have only ids; a seeded box score has names.
        name_columns = {name for name in ("team_name", "last_name") if any(row[name] for row in rows)}
        team = "team_name" if "team_name" in name_columns else "team_id"
        return [team, "player_id", *(name_columns & {"last_name"}), *codes]

    def html(self) -> str:
        """Render the whole view as HTML."""
        head = {"title": self.headline(), "about": "", "notes": list(self.notices)}
        columns = self.columns()
        if columns is not None:
            return notebook_html(head, table_part(self.score.table(), columns, MAX_ROWS))
        return notebook_html(head, {"codes": [describe_update(update) for update in self.updates]})

    def text(self) -> str:
        """Render the box score as text, or return "" without one."""
        columns, table = self.columns(), self.score.table()
        return "" if columns is None else align(table, columns, table.num_rows)


def stat_columns(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, tuple[str, ...]]:
    """Return basketball's columns, or the first stat codes with values if there are none of basketball's."""
    codes = dict.fromkeys(code for row in rows for code, value in row.items() if code.isupper() and value is not None)
    if not codes or any(code in codes for pair in COLUMNS.values() for code in pair):
        return COLUMNS
    others = [code for code in codes if not code.endswith("_SCORE")]
    return {code: (code,) for code in others[:MAX_OTHER_COLUMNS]}


def add_counted(stream: "LiveStream", score: LiveBoxScore, item: object, add: Callable[[object], object]) -> None:
    """Add an item to what feeds a box score, and count the unreadable rows of an update in the stream's statistics."""
    before = score.unreadable
    add(item)
    if isinstance(item, Update) and score.unreadable > before:
        core_of_stream(stream).count_unreadable(score.unreadable - before)


def doubts(stats: StreamStats, score: LiveBoxScore) -> list[str]:
    """Return what a reader should know about gaps and rows; nothing if nothing is doubtful."""
    gaps = f"{count_text(stats.gaps, 'gap')}, {stats.open_gaps} open" if stats.gaps else ""
    rows = f"{count_text(score.unreadable, 'row')} unreadable" if score.unreadable else ""
    return [text for text in (gaps, "values may be missing" if score.stale else "", rows) if text]


class Screen(Protocol):
    """A place where a view is shown."""

    def show(self, view: View) -> None:
        """Show the current state."""

    def finish(self, view: View) -> None:
        """Show the last state."""


class Notebook:
    """An output of a notebook cell that is replaced."""

    def __init__(self) -> None:
        self._ipython = import_module("IPython.display")
        self._handle: Any = None
        self._last_output = ""

    def show(self, view: View) -> None:
        """See `Screen`."""
        page = view.html()
        if self._handle is None:
            self._handle = self._ipython.display(self._ipython.HTML(page), display_id=True)
        elif page != self._last_output:
            self._handle.update(self._ipython.HTML(page))
        self._last_output = page

    def finish(self, view: View) -> None:
        """See `Screen`."""
        self.show(view)


class Lines:
    """Lines of text: a line for each change, and the box score at the end."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._last_output = ""

    def show(self, view: View) -> None:
        """See `Screen`."""
        for text in view.new_notices:
            self._write(text)
        view.new_notices.clear()
        line = view.headline()
        if line != self._last_output:
            self._write(line)
        self._last_output = line

    def finish(self, view: View) -> None:
        """See `Screen`."""
        self.show(view)
        if text := view.text():
            self._write(text)


def screen() -> Screen:
    """Return the notebook if the code runs in one, else standard output."""
    return Notebook() if is_notebook() else Lines(lambda text: print(text, flush=True))  # noqa: T201


def run(view: View, on: Screen, every: float) -> None:
    """Show a stream until it ends or is interrupted; then close it, unless it was entered with `with`."""
    core, is_inside = core_of_stream(view.stream), is_entered(view.stream)
    try:
        core.open()
        on.show(view)
        for item in follow(view.stream, interval=every):
            if item is None:
                on.show(view)
            else:
                view.add(item)
    except KeyboardInterrupt:
        pass
    finally:
        if not is_inside:
            core.close()
        on.finish(view)


def describe_notice(notice: object) -> str:
    """Describe a notice in one line."""
    match notice:
        case Connected(at):
            return f"{format_clock(at)} connected"
        case Disconnected(at, reason, retry_at=retry_at):
            retry = f"; again at {format_clock(retry_at)}" if retry_at else ""
            return f"{format_clock(at)} disconnected: {visible(shorten(reason, 120))}{retry}"
        case Gap(start, end, "overflow", int(dropped)):
            until = format_clock(end) if end else "the end"
            return f"{format_clock(start)} to {until}: {count_text(dropped, 'update')} dropped, not taken in time"
        case Gap(start, _, "restarted"):
            return f"{format_clock(start)} the service's sequence numbers restarted"
        case Gap(start, _, "started"):
            return f"{format_clock(start)} what happened before is requested"
        case Gap(start, end, reason):
            until = format_clock(end) if end else "the end"
            text = visible(shorten(reason, 120))
            # The reason of a final one states what is missing.
            missing = text if notice.is_final else f"messages may be missing ({text})"
            return f"{format_clock(start)} to {until}: {missing}"
        case Recovered(Gap(start, end)):
            return f"{format_clock(start)} to {format_clock(end) if end else 'the end'}: recovered"
        case Recovering(Gap(start, end), missing=missing):
            until = format_clock(end) if end else "the end"
            return f"{format_clock(start)} to {until}: recovering, without {visible(shorten(', '.join(missing), 120))}"
        case Quiet(since):
            return f"{format_clock(since)} quiet since then"
    return str(notice)


def describe_update(update: Update) -> str:
    """Describe an update in one line."""
    seq = f" {update.seq}" if update.seq is not None else ""
    name = visible(update.source or update.event)
    return f"{format_clock(update.received_at)} {name}{seq} {visible(shorten(update.text, 100))}"


def format_clock(at: datetime) -> str:
    """Format a time to the second."""
    return f"{at.astimezone(UTC):%H:%M:%S}Z"
