"""A season on disk or in a bucket: Delta Lake tables that are fetched once, kept current, and read without the service.

    plan.py         what to ask for: pure
    fetch.py        units in, outcomes out
    sync.py         one sync: discover, plan, fetch, keep
    keep.py         outcomes into the tables, in an order that survives a kill and another writer
    corrections.py  what a body that came again says otherwise: pure
    store.py        Delta tables: opened, made, rows replaced
    read.py         polars, Arrow, DuckDB, and the past
    rebuild.py      a table made anew from the bodies
    command.py      `sideline sync`
    report.py       what a sync came to, what an archive holds

The examples run against the simulator; in them `archive` holds `games` games, of which `game_id` is one.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal

from sideline._core import Table, _epoch_ms, _ids
from sideline._frames import library
from sideline._progress import Told
from sideline.archive import plan, read
from sideline.archive.keep import told
from sideline.archive.plan import TABLES
from sideline.archive.report import HAD, ArchiveInfo, SyncReport
from sideline.archive.store import Store, contract, now, own_schemas
from sideline.archive.sync import Sync
from sideline.batch import many

if TYPE_CHECKING:
    import duckdb
    import polars
    import pyarrow
    from deltalake import DeltaTable

    from sideline.client import Client
    from sideline.operations import Time

__all__ = ["Archive", "ArchiveInfo", "SyncReport"]

_WINDOW = timedelta(days=7)


class Archive:
    """A season's tables in a folder or an object store, as Delta Lake has them.

    It takes `pip install "sideline[archive]"`. Reading needs no client. Several processes may sync one archive at once,
    and one that is killed goes on where it was, with no row lost and none twice.

    Parameters:
        root: a folder, made where it is not there, or an address: "s3://…", "gs://…", "az://…", "file://…".
        client: a `sideline.Client`; only `sync` needs it.
        storage_options: for the object store, as `deltalake` takes them, which also reads the environment. They are not
            pickled.
        clock: what time it is at the service; default: this machine's, or later where an event ended later.

    >>> import sideline
    >>> with service.client() as client:
    ...     season = sideline.Archive("season", client)
    ...     season.sync(game_ids=[game_id]).complete
    True
    >>> sideline.Archive("season").scan("box_score").collect().height > 0
    True
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        client: "Client | None" = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._store = Store(root, storage_options)
        self._client = client
        self._clock = clock

    def sync(
        self,
        team_ids: Iterable[int] | int | None = None,
        game_ids: Iterable[str] | str | None = None,
        start: "Time | None" = None,
        end: "Time | None" = None,
        *,
        tables: Iterable[str] | None = None,
        progress: Told = None,
        correction_window: timedelta | None = _WINDOW,
        on_error: Literal["keep", "raise"] = "keep",
    ) -> SyncReport:
        """Fetch what is new, was unfinished when last seen, or may still be corrected, and store it.

        It plans from the schedule and the teams' events, practices included; a game of the schedule that no team's
        events have is asked for by its id. What is stored stays as it is unless the service says otherwise. Where the
        service refuses the credentials themselves it ends with `AuthenticationError`; what was stored before is there.

        Parameters:
            team_ids: default: all teams that the client may see.
            game_ids: these games alone, without schedule and rosters; then `start` and `end` are not needed.
            start, end: the range; without `end` it ends now.
            tables: those to have, with the others of their bodies; default: all but `locations`.
            progress: True, False, or a function of `sideline.Progress`; default: a bar on a terminal or in a notebook,
                once it lasts longer than half a second.
            correction_window: how long after its end a game is asked for again; `None`: always.
            on_error: "raise" raises `IncompleteError` where anything planned is not there, after storing the rest.

        >>> season = sideline.Archive("season", client)
        >>> report = season.sync(team_ids=[team_id], start="2026-11-01", end="2026-11-08")
        >>> report.coverage.column_names[-6:]
        ['rows', 'request_id', 'error', 'attempts', 'fetched_at', 'unit']
        >>> report.raise_if_incomplete()
        """
        if on_error not in ("keep", "raise"):
            raise ValueError(f'on_error is "keep" or "raise", not {on_error!r}')
        teams, games, end, wanted = self._checked(team_ids, game_ids, start, end, tables, correction_window)
        run = Sync(
            self._store,
            self._asked(),
            wanted=wanted,
            window=correction_window,
            clock=self._clock,
            progress=progress,
        )
        run.run(teams, games, start, end)
        report = self._report(run)
        if on_error == "raise":
            report.raise_if_incomplete()
        return report

    def _checked(
        self,
        team_ids: Iterable[int] | int | None,
        game_ids: Iterable[str] | str | None,
        start: "Time | None",
        end: "Time | None",
        tables: Iterable[str] | None,
        correction_window: timedelta | None,
    ) -> "tuple[list[int] | None, list[str] | None, Time, frozenset[str]]":
        """Teams, games, end of the range, operations; what is wrong raises before anything is asked or written."""
        if not isinstance(correction_window, (timedelta, NoneType)):
            kind = type(correction_window).__name__
            raise TypeError(f"correction_window is a timedelta or None, not {kind}: write timedelta(days=7)")
        client = self._asked()
        if game_ids is None and start is None:
            raise ValueError("give the range: start=, and end= where it is not now; or game_ids=")
        if game_ids is not None and team_ids is not None:
            raise ValueError("give team_ids with a range, or game_ids, not both")
        wanted = plan.operations(tables)
        teams = _listed("team_ids", team_ids)
        if teams is not None and not all(str(team).isascii() and str(team).isdigit() for team in teams):
            raise ValueError(f"team_ids are numbers, not {teams}")
        games = _listed("game_ids", game_ids)
        until = self._clock() if end is None else end
        if game_ids is None and start is not None:
            _ordered(start, until, is_now=end is None)
        client._core.check_credentials()
        return (
            teams if teams is None else list(dict.fromkeys(map(int, teams))),
            games if games is None else list(dict.fromkeys(map(str, games))),
            until,
            wanted,
        )

    def _asked(self) -> "Client":
        from sideline.client import Client

        if not isinstance(self._client, Client):
            raise ValueError("sync needs a client that waits: sideline.Archive(root, sideline.Client())")
        return self._client

    def _report(self, run: Sync) -> SyncReport:
        rows = [told(outcome) for outcome in run.outcomes]
        names = [
            name for name in contract("coverage").names if name not in ("body_id", "stored_at", "over_at", "final")
        ]
        return SyncReport(
            _named("coverage", rows, names),
            _named("corrections", run.corrections, contract("corrections").names[:-1]),
            [row for row in rows if row["status"] not in HAD],
        )

    def scan(self, name: str) -> "polars.LazyFrame":
        """A table as a polars LazyFrame, with the columns and types of `sideline.SCHEMAS`.

        `coverage` (a row for each body that is there or should be), `corrections` and `raw` are tables too.

        >>> archive.scan("player_stats").filter(stat="PTS", is_team_total=True).collect().height
        4
        """
        return read.scan(self._store, name)

    def table(self, name: str) -> "DeltaTable":
        """A table as a `deltalake.DeltaTable`: what is stored, in microseconds and without dictionaries.

        Raises `ValueError` where nothing was stored of it.

        >>> archive.table("shots").version() >= 0
        True
        """
        table = self._store.open(read.known(name))
        if table is None:
            raise ValueError(f"nothing is stored of {name} yet")
        return table

    def sql(self, query: str) -> "duckdb.DuckDBPyRelation":
        """A query by DuckDB; the tables have their names.

        >>> archive.sql("select count(distinct session_id) from stat_events").fetchall()
        [(2,)]
        """
        return read.sql(self._store, query)

    def to_arrow(self, name: str) -> "pyarrow.Table":
        """A whole table as a `pyarrow.Table`, with the columns and types of `sideline.SCHEMAS`.

        >>> archive.to_arrow("shots").column_names[:2]
        ['session_id', 'game_id']
        """
        return read.to_arrow(self._store, name)

    def corrections(self, since: "Time | None" = None) -> "polars.DataFrame":
        """What changed after it was first stored, once its game was over; the newest last.

        A correction is told once, where the box score tells it: the team's total, the occurrence that came with it and
        the play that was rewritten for it are its consequences.

        >>> archive.corrections().columns[:3]
        ['table', 'team_id', 'game_id']
        """
        pl = library("polars", "archive")
        frame = read.scan(self._store, "corrections").drop("change")
        if since is not None:
            # As fine as the column.
            since = _aware("since", since)
            since = since.replace(microsecond=since.microsecond // 1000 * 1000)
            frame = frame.filter(pl.col("seen_at") >= since)
        return frame.sort("seen_at", maintain_order=True).collect()

    def as_of(self, when: "Time") -> read.AsOf:
        """The archive as it was known at a time: `as_of(when).scan(name)` has every table as it was stored then.

        >>> import datetime
        >>> archive.as_of(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)).scan("shots").collect().height
        0
        """
        return read.AsOf(self._store, _aware("when", when))

    def info(self) -> ArchiveInfo:
        """Rows, games, holes and freshness.

        >>> archive.info().games == games
        True
        """
        rows = read.coverage(self._store)
        games = [row for row in rows if row["operation"] == "game" and row["status"] in HAD]
        counts = {name: table.count() for name in TABLES if (table := self._store.open(name)) is not None}
        corrections = self._store.open("corrections")
        return ArchiveInfo(
            root=self._store.root,
            rows=counts,
            games=len(games),
            sessions=len({row["session_id"] for row in rows if row["session_id"]}),
            holes=[row for row in rows if row["status"] not in HAD],
            unfinished=sum(not row["final"] for row in games),
            fetched_at=max((row["fetched_at"] for row in rows if row["fetched_at"]), default=None),
            corrections=corrections.count() if corrections else 0,
        )

    def audit(self) -> Table:
        """Where the stored tables contradict each other: the table `violations`, by the rules of `sideline.audit`.

        What is not over yet is left out. A session of which one table is not there is a violation itself: see
        `info().holes`.

        >>> archive.audit().num_rows
        0
        """
        return read.audit(self._store)

    def compact(self) -> None:
        """Join small files, and delete files that no reader of the last week can need. The past stays readable.

        >>> archive.compact()
        """
        for name in (*TABLES, *own_schemas()):
            if (table := self._store.open(name)) is not None:
                table.optimize.compact()
                table.vacuum(dry_run=False)

    def rebuild(self, table: str) -> None:
        """Make a table anew from the bodies that were kept: with the columns that this version of sideline knows.

        >>> archive.rebuild("shots")
        """
        if table not in TABLES:
            raise ValueError(f"no table of bodies is named {table!r}; there are {', '.join(TABLES)}")
        from sideline.archive.rebuild import rebuild

        rebuild(self._store, table)

    def __repr__(self) -> str:
        return f"<sideline.Archive {self._store.root}>" if hasattr(self, "_store") else "<sideline.Archive, not built>"

    def _repr_html_(self) -> str:
        return self.info()._repr_html_()


def _listed(name: str, ids: Any) -> list[Any] | None:
    if ids is None:
        return None
    # In an archive they have no order.
    several = many(name, sorted(ids) if isinstance(ids, (set, frozenset)) else ids)
    return _ids(name, [ids]) if several is None else several


def _ordered(start: "Time", end: "Time", *, is_now: bool) -> None:
    # As fine as it is sent.
    ends = _epoch_ms("start", start), _epoch_ms("end", end)
    if ends[0] < ends[1]:
        return
    first, last = map(plan.moment, ends)
    if is_now:
        raise ValueError(f"start {first} is to come, and a range without end ends now, {last}: give the end too")
    if first == last:
        day = (first + timedelta(days=1)).date()
        raise ValueError(f"start and end are both {first}: a range has a length; for a day end it with {day}")
    raise ValueError(f"start {first} is after end {last}: write them the other way round")


def _aware(name: str, when: "Time") -> datetime:
    milliseconds = _epoch_ms(name, when)
    if isinstance(when, datetime):
        # As fine as it is.
        return when
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _named(name: str, rows: list[dict[str, Any]], columns: list[str]) -> Table:
    pa = library("pyarrow", "archive")
    table = pa.Table.from_pylist(rows, own_schemas()[name])
    return Table._from_arrow(name, read.conformed(table, contract(name)).select(columns))
