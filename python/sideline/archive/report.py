"""What a sync came to, and what an archive holds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from sideline._core import Table
from sideline._text import LEFT, facts_html
from sideline.batch import HOLES, STATUSES
from sideline.errors import IncompleteError

HAD = ("fetched", "empty")


class SyncReport:
    """What was planned, and how each unit of it ended."""

    def __init__(self, coverage: Table, corrections: Table, holes: Sequence[dict[str, Any]]) -> None:
        self.coverage = coverage
        """A row for each unit of work; its `status` is one of fetched, empty, forbidden, missing, failed."""
        self.corrections = corrections
        """What changed after it was first stored, as this sync saw it."""
        self.holes = list(holes)
        """The rows of `coverage` that are neither fetched nor empty."""

    @property
    def complete(self) -> bool:
        """Whether everything planned is there."""
        return not self.holes

    def raise_if_incomplete(self) -> None:
        """Raise `IncompleteError`, with this report as its `batch`, where anything planned is not there.

        >>> archive.sync(game_ids=[game_id]).raise_if_incomplete()
        """
        if self.holes:
            shown = "; ".join(hole_line(hole) for hole in self.holes[:5])
            more = f"; and {len(self.holes) - 5} more" if len(self.holes) > 5 else ""
            raise IncompleteError(
                f"{len(self.holes)} of {self.coverage.num_rows} units are not there: {shown}{more}. What arrived is "
                "stored; sync again to ask for what is not",
                batch=self,
            )

    def _holes(self) -> str:
        return f"{len(self.holes):,} hole{'s' * (len(self.holes) != 1)}"

    def __repr__(self) -> str:
        state = "complete" if self.complete else self._holes()
        return f"<sideline.SyncReport {self.coverage.num_rows} units, {state}, {self.corrections.num_rows} corrections>"

    def _repr_html_(self) -> str:
        ended = Counter(row["status"] for row in self.coverage.to_dicts())
        facts = {"units": self.coverage.num_rows, **{status: ended[status] for status in STATUSES if ended[status]}}
        facts["corrections"] = self.corrections.num_rows
        title = "sync: complete" if self.complete else f"sync: {self._holes()}"
        return f"<div>{facts_html(title, facts)}{_holes_html(self.holes)}</div>"


def hole_line(hole: dict[str, Any]) -> str:
    """One hole as text."""
    return f"{hole['unit']} {hole['status']}: {hole['error']}"


@dataclass(frozen=True)
class ArchiveInfo:
    """What an archive holds: see `Archive.info`.

    >>> info = archive.info()
    >>> info.holes, info.rows["box_score"] > 0
    ([], True)
    """

    root: str
    rows: dict[str, int]
    """Of each table."""
    games: int
    sessions: int
    holes: list[dict[str, Any]]
    """Rows of the table `coverage`: what was planned and is not there."""
    unfinished: int
    """Games that were not over when last seen."""
    fetched_at: datetime | None
    """When the newest of it was fetched."""
    corrections: int

    def __repr__(self) -> str:
        lines = [f"archive {self.root}"]
        lines += [f"  {name}: {value}" for name, value in self._facts().items()]
        lines += [f"  {name:<20}{rows:>12,} rows" for name, rows in self.rows.items()]
        lines += [f"  hole: {hole_line(hole)}" for hole in self.holes[:HOLES]]
        return "\n".join(lines)

    def _facts(self) -> dict[str, Any]:
        fresh = f"{self.fetched_at:%Y-%m-%d %H:%M:%S} UTC" if self.fetched_at else "nothing fetched yet"
        return {
            "games": self.games,
            "not over when last seen": self.unfinished,
            "sessions": self.sessions,
            "holes": len(self.holes),
            "corrections": self.corrections,
            "last fetched": fresh,
        }

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th{LEFT}>{name}</th><td>{count:,}</td></tr>" for name, count in self.rows.items())
        return (
            f"{facts_html(f'archive {self.root}', self._facts())}"
            f"<div><table><thead><tr><th{LEFT}>table</th><th>rows</th></tr></thead><tbody>{rows}</tbody></table>"
            f"{_holes_html(self.holes)}</div>"
        )


def _holes_html(holes: Sequence[dict[str, Any]]) -> str:
    shown = "".join(f"<li>{escape(hole_line(hole))}</li>" for hole in holes[:HOLES])
    more = f"<li>and {len(holes) - HOLES:,} more</li>" if len(holes) > HOLES else ""
    return f"<ul>{shown}{more}</ul>" if holes else ""
