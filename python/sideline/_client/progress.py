"""Progress of a batch: a tqdm bar if tqdm is installed, else a line of text, or the caller's own function."""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from .._core import CoreProgress

UPDATE_INTERVAL = 0.1
"""Seconds between two updates."""

BAR_DELAY = 0.5
"""Seconds before a bar is shown."""


class Progress(NamedTuple):
    """The progress of a batch. The function passed as `progress=` is called with it after changes, and at the end.

    >>> seen = []
    >>> batch = client.stats([session_id], progress=seen.append)
    >>> seen[-1].done, seen[-1].total
    (1, 1)
    """

    operation: str
    done: int
    """Number of units that have ended."""
    total: int
    rows: int
    """Number of rows in their first tables."""
    elapsed: float
    """Seconds."""
    bytes: int
    """Expected bytes of all bodies before compression, without lists and rosters; 0 if unknown. The averages are of a
    simulated season: bodies of the service may have several times as many, or few."""


ProgressOption = bool | Callable[[Progress], object] | None
"""True, False, a function, or None: a bar on a terminal or in a notebook, after half a second."""


class Bar:
    """Shows the progress of a batch. It may be called more often than the display changes."""

    def __init__(
        self,
        operation: str,
        total: int,
        counters: CoreProgress,
        show: Callable[[Progress, bool], object],
        expected_bytes: int,
        delay: float = 0.0,
    ) -> None:
        self._operation, self._total, self._counters, self._show = operation, total, counters, show
        self._bytes = expected_bytes
        self._started_at = time.monotonic()
        self._last: tuple[int, int] | None = None
        self._next_update = self._started_at + delay

    def __call__(self, is_over: bool = False) -> None:
        now = time.monotonic()
        seen = self._counters.done, self._counters.rows
        if now < self._next_update and (not is_over or self._last is None):
            return
        if is_over or seen != self._last:
            self._last, self._next_update = seen, now + UPDATE_INTERVAL
            elapsed = now - self._started_at
            self._show(Progress(self._operation, seen[0], self._total, seen[1], elapsed, self._bytes), is_over)


def bar(option: ProgressOption, operation: str, total: int, counters: CoreProgress, expected_bytes: int) -> Bar | None:
    """Return the display of the progress, or `None` without one."""
    if callable(option):
        function = option
        return Bar(operation, total, counters, lambda progress, _: function(progress), expected_bytes)
    if option not in (None, True, False):
        raise TypeError(f"progress is True, False, None or a function, not {type(option).__name__}")
    if option is False or total == 0:
        return None
    delay = 0.0 if option else BAR_DELAY
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if is_notebook():
        return Bar(operation, total, counters, _tqdm_bar("notebook") or _Notebook(), expected_bytes, delay)
    if option or terminal:
        show = (_tqdm_bar("terminal") if terminal else None) or _Line(terminal)
        return Bar(operation, total, counters, show, expected_bytes, delay)
    return None


def _tqdm_bar(place: str) -> "_Tqdm | None":
    """Return a tqdm bar, or `None` if tqdm or its notebook widgets are not installed."""
    libraries = ("tqdm", "ipywidgets") if place == "notebook" else ("tqdm",)
    if not all(map(_is_installed, libraries)):
        return None
    return _Tqdm("tqdm.notebook" if place == "notebook" else "tqdm.std")


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except ValueError:
        return False


class _Tqdm:
    """A tqdm bar, created when there is something to show."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._bar: Any = None

    def __call__(self, progress: Progress, is_over: bool) -> None:
        if self._bar is None:
            self._bar = import_module(self._module).tqdm(total=progress.total, desc=progress.operation, mininterval=0)
        self._bar.set_postfix_str(", ".join([f"{progress.rows:,} rows", *size_texts(progress)]), refresh=False)
        self._bar.update(progress.done - self._bar.n)
        self._bar.refresh()
        if is_over:
            self._bar.close()


def size_texts(progress: Progress) -> list[str]:
    """Format what is expected, until all of it is there."""
    return [f"about {progress.bytes / 1e6:,.1f} MB in all"] if progress.bytes and progress.done < progress.total else []


def progress_text(progress: Progress) -> str:
    """Format done and total units, rows, units per second, the expected size and the time left."""
    rate = progress.done / progress.elapsed if progress.elapsed > 0 else 0.0
    parts = [f"{progress.operation} {progress.done}/{progress.total}", f"{progress.rows:,} rows", f"{rate:.1f}/s"]
    parts += size_texts(progress)
    if progress.done < progress.total:
        left = round((progress.total - progress.done) / rate) if rate else None
        parts.append("? left" if left is None else f"{left // 60}:{left % 60:02} left")
    else:
        parts.append(f"{progress.elapsed:.1f} s")
    return ", ".join(parts)


class _Line:
    """One line of stderr that is overwritten; without a terminal, only its last state."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._width = 0

    def __call__(self, progress: Progress, is_over: bool) -> None:
        if self._terminal:
            line = progress_text(progress)
            sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if is_over else ""))
            self._width = len(line)
        elif is_over:
            sys.stderr.write(progress_text(progress) + "\n")
        sys.stderr.flush()


class _Notebook:
    """A notebook display that is updated in place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, progress: Progress, is_over: bool) -> None:  # noqa: ARG002
        content = {"text/plain": progress_text(progress)}
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def is_notebook() -> bool:
    """Return whether the code runs in a notebook."""
    # A notebook has already imported IPython.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
