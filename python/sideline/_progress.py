"""How far a batch is: a bar of tqdm where it is installed, else a line of text; or the caller's own function."""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from sideline._core import CoreProgress

STEP = 0.1
"""Seconds between two looks."""

PATIENCE = 0.5
"""Seconds that nobody needs to be told about."""


class Progress(NamedTuple):
    """How far a batch is. A function given as `progress=` is called with one whenever it changed, and at the end.

    >>> told = []
    >>> batch = client.stats([session_id], progress=told.append)
    >>> told[-1].done, told[-1].total
    (1, 1)
    """

    operation: str
    done: int
    """Units that ended, however they did."""
    total: int
    rows: int
    """Of their first tables."""
    elapsed: float
    """Seconds."""


ProgressOption = bool | Callable[[Progress], object] | None
"""True, False, a function, or None: a bar on a terminal or in a notebook, for what takes longer than half a second."""


class Bar:
    """Tells how far a batch is. It may be called more often than there is something to tell."""

    def __init__(
        self,
        operation: str,
        total: int,
        counters: CoreProgress,
        tell: Callable[[Progress, bool], object],
        patience: float = 0.0,
    ) -> None:
        self._operation, self._total, self._counters, self._tell = operation, total, counters, tell
        self._begun = time.monotonic()
        self._last: tuple[int, int] | None = None
        self._next = self._begun + patience

    def __call__(self, ended: bool = False) -> None:
        now = time.monotonic()
        seen = self._counters.done, self._counters.rows
        if now < self._next and (not ended or self._last is None):
            return
        if ended or seen != self._last:
            self._last, self._next = seen, now + STEP
            self._tell(Progress(self._operation, seen[0], self._total, seen[1], now - self._begun), ended)


def bar(told: ProgressOption, operation: str, total: int, counters: CoreProgress) -> Bar | None:
    """What tells; `None`: nothing is to be told."""
    if callable(told):
        function = told
        return Bar(operation, total, counters, lambda progress, _: function(progress))
    if told not in (None, True, False):
        raise TypeError(f"progress is True, False, None or a function, not {type(told).__name__}")
    if told is False or total == 0:
        return None
    patience = 0.0 if told else PATIENCE
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if _in_a_kernel():
        return Bar(operation, total, counters, _shown("notebook") or _Notebook(), patience)
    if told or terminal:
        return Bar(operation, total, counters, (_shown("terminal") if terminal else None) or _Line(terminal), patience)
    return None


def _shown(where: str) -> "_Tqdm | None":
    """A bar of tqdm; `None` where it is not installed, or lacks what notebooks show it by."""
    needed = ("tqdm", "ipywidgets") if where == "notebook" else ("tqdm",)
    if not all(map(_is_installed, needed)):
        return None
    return _Tqdm("tqdm.notebook" if where == "notebook" else "tqdm.std")


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:
        return False


class _Tqdm:
    """A bar of tqdm, made when there is something to show."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._bar: Any = None

    def __call__(self, progress: Progress, ended: bool) -> None:
        if self._bar is None:
            self._bar = import_module(self._module).tqdm(total=progress.total, desc=progress.operation, mininterval=0)
        self._bar.set_postfix_str(f"{progress.rows:,} rows", refresh=False)
        self._bar.update(progress.done - self._bar.n)
        self._bar.refresh()
        if ended:
            self._bar.close()


def text(progress: Progress) -> str:
    """Done of total, rows, units in a second, time left."""
    rate = progress.done / progress.elapsed if progress.elapsed > 0 else 0.0
    parts = [f"{progress.operation} {progress.done}/{progress.total}", f"{progress.rows:,} rows", f"{rate:.1f}/s"]
    if progress.done < progress.total:
        left = round((progress.total - progress.done) / rate) if rate else None
        parts.append("? left" if left is None else f"{left // 60}:{left % 60:02} left")
    else:
        parts.append(f"{progress.elapsed:.1f} s")
    return ", ".join(parts)


class _Line:
    """One line of stderr, written over itself; where it is no terminal, only its last state."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._width = 0

    def __call__(self, progress: Progress, ended: bool) -> None:
        if self._terminal:
            line = text(progress)
            sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if ended else ""))
            self._width = len(line)
        elif ended:
            sys.stderr.write(text(progress) + "\n")
        sys.stderr.flush()


class _Notebook:
    """A display that is updated in its place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, progress: Progress, ended: bool) -> None:  # noqa: ARG002
        shown = {"text/plain": text(progress)}
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def _in_a_kernel() -> bool:
    # A notebook has IPython loaded; nothing is imported to find out.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
