"""A season on disk or in a bucket: Delta Lake tables that are fetched once, kept current, and read without the service.

    listing.py      what lists of events and games say: pure
    plan.py         what to request: pure
    absence.py      what lists no longer have: pure
    discover.py     the lists of one sync, requested and read
    fetch.py        units in, outcomes out
    decode.py       a body's rows, as they are stored
    sync.py         one sync: discover, plan, fetch, store
    keep.py         outcomes into the tables, in an order that survives a kill and another writer
    ledger.py       rows of `coverage` without a body
    rosters.py      who was on a roster, and when
    corrections.py  what a new body says otherwise than the one before: pure
    leases.py       several machines on one bucket
    store.py        Delta tables: opened, made, rows replaced
    compaction.py   small files joined, replaced ones deleted
    read.py         polars, Arrow, DuckDB, and the past
    status.py       whether each table of each game is in
    audits.py       the rules of sideline.audit over the stored tables
    changes.py      the rows by which two states differ
    export.py       changes into another database
    rebuild.py      a table made anew from the bodies
    command.py      `sideline sync`
    report.py       how a sync ended, and what an archive holds
    trouble.py      missing credentials, damaged files and a full disk, as errors that say what to do
    page.py         the morning report

The examples run against the simulator; in them `archive` holds `games` games, of which `game_id` is one.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from html import escape
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal

import sideline
from sideline._core import Table, _epoch_ms, _ids
from sideline._frames import library
from sideline._progress import ProgressOption
from sideline._types import LazyModule, Time
from sideline.archive import audits, compaction, plan, read
from sideline.archive.changes import KEYS, Changes, state, state_at
from sideline.archive.changes import changes as rows_between
from sideline.archive.export import Exported, deliver
from sideline.archive.keep import coverage_row, to_arrow
from sideline.archive.options import Options
from sideline.archive.plan import TABLES
from sideline.archive.report import ArchiveInfo, SyncReport, is_hole
from sideline.archive.store import Store, contract, own_schemas
from sideline.archive.sync import Sync
from sideline.batch import many

if TYPE_CHECKING:
    import deltalake
    import duckdb
    import polars
    import pyarrow

    from sideline import _audit
    from sideline.archive import page as _page
else:
    deltalake, duckdb, polars, pyarrow = map(LazyModule, ("deltalake", "duckdb", "polars", "pyarrow"))
    _audit, _page = LazyModule("sideline._audit"), LazyModule("sideline.archive.page")

__all__ = ["KEYS", "Archive", "ArchiveInfo", "Changes", "Exported", "SyncReport"]

_FIRST_TIME = 1_000_000_000
"""Epoch milliseconds that are given as a time are more, versions of an archive are fewer."""

_WINDOW = timedelta(days=7)
_RETAINED = timedelta(days=7)


class Archive:
    """A season's tables in a folder or an object store, as Delta Lake has them.

    It takes `pip install "sideline[archive]"`. Reading needs no client; where the folder holds no archive, every read
    raises `FileNotFoundError`, with a client or without. Several processes may sync one archive at once, and one that
    is killed resumes, with no row lost and none twice.

    Parameters:
        root: a folder, made by the first sync, or an address: "s3://…", "gs://…", "az://…", "file://…".
        client: a `sideline.Client`; only `sync` needs it.
        storage_options: for the object store, as `deltalake` takes them, which also reads the environment. They are not
            pickled.
        clock: returns the time by which a sync plans; default: that of the service, as its first response says
            (`Date`; of a simulator with a frozen clock the season's time), or this machine's where it says none.

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
        client: "sideline.Client | None" = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        options = Options(storage_options)
        # What a traceback shows of its frames must not be these.
        del storage_options
        self._store = Store(root, options)
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
        progress: ProgressOption = None,
        correction_window: timedelta | None = _WINDOW,
        on_error: Literal["raise", "keep"] = "raise",
    ) -> SyncReport:
        """Fetch what is new, was unfinished when last seen, or may still be corrected, and store it.

        It plans from the schedule and the teams' events, practices included; a game of the schedule that no team's
        events list is requested by its id. Every table is requested for every session. Stored rows stay as they are
        unless the service changes them: a failure never replaces a row. `docs/trust.md` says what each status means,
        and when a game or session counts as withdrawn.

        Parameters:
            team_ids: default: all teams that the client may see.
            game_ids: these games alone, without schedule and rosters; then `start` and `end` are not needed.
            start, end: the range; without `end` it ends now.
            tables: those to store, with the others of their bodies; default: all but `locations`.
            progress: True, False, or a function of `sideline.Progress`; default: a bar on a terminal or in a notebook,
                once it lasts longer than half a second.
            correction_window: how long after its end a game is requested again; `None`: always.
            on_error: "raise" stores what was fetched, then raises `IncompleteError` with `.report` where there is a
                hole; "keep" returns the report.

        Raises `AuthenticationError` where the service refuses the credentials themselves and `ConnectError` where it
        cannot be reached; what was stored before is kept.

        >>> season = sideline.Archive("season", client)
        >>> report = season.sync(team_ids=[team_id], start="2026-11-01", end="2026-11-08")
        >>> report.coverage.column_names == sideline.SCHEMAS["coverage"].names
        True
        >>> report.holes, report.drift.num_rows
        ([], 0)
        """
        if on_error not in ("keep", "raise"):
            raise ValueError(f'on_error is "keep" or "raise", not {on_error!r}')
        teams, games, wanted = self._checked(team_ids, game_ids, start, end, tables, correction_window)
        client = self._client_of_sync()
        before = _drift_counts(client)
        run = Sync(
            self._store,
            client,
            wanted=wanted,
            window=correction_window,
            clock=self._clock,
            progress=progress,
        )
        run.run(teams, games, start, end)
        report = SyncReport(
            _named("coverage", [coverage_row(outcome) for outcome in run.outcomes]),
            _named("corrections", run.corrections),
            _drift_since(client, before),
        )
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
    ) -> "tuple[list[int] | None, list[str] | None, frozenset[str]]":
        """Teams, games and operations; what is wrong raises before anything is requested or written."""
        if not isinstance(correction_window, (timedelta, NoneType)):
            kind = type(correction_window).__name__
            raise TypeError(f"correction_window is a timedelta or None, not {kind}: write timedelta(days=7)")
        client = self._client_of_sync()
        if game_ids is None and start is None:
            raise ValueError("give the range: start=, and end= where it is not now; or game_ids=")
        if game_ids is not None and team_ids is not None:
            raise ValueError("give team_ids with a range, or game_ids, not both")
        wanted = plan.operations(tables)
        teams = _listed("team_ids", team_ids)
        if teams is not None and not all(str(team).isascii() and str(team).isdigit() for team in teams):
            raise ValueError(f"team_ids are numbers, not {teams}")
        games = _listed("game_ids", game_ids)
        if game_ids is None and start is not None and (end is not None or self._clock is not None):
            plan.check_range(start, end, self._clock and self._clock())
        client._core.check_credentials()
        return (
            teams if teams is None else list(dict.fromkeys(map(int, teams))),
            games if games is None else list(dict.fromkeys(map(str, games))),
            wanted,
        )

    def _client_of_sync(self) -> "sideline.Client":
        from sideline._client import Client

        if not isinstance(self._client, Client):
            raise ValueError("sync needs a client that waits: sideline.Archive(root, sideline.Client())")
        return self._client

    def scan(self, name: str) -> "polars.LazyFrame":
        """A table as a polars LazyFrame, with the columns and types of `sideline.SCHEMAS`.

        `coverage` (a row for each unit that was ever planned), `corrections` and `raw` are tables too. `players` has
        two more columns, `listed_from` and `listed_until`: everyone who was on a stored roster stays in it.

        >>> archive.scan("player_stats").filter(stat="PTS", is_team_total=True).collect().height
        4
        """
        return read.scan(self._store, name)

    def delta(self, name: str) -> "deltalake.DeltaTable":
        """A table as a `deltalake.DeltaTable`: what is stored, in microseconds and without dictionaries.

        It has the archive's own columns too. Raises `ValueError` where nothing was stored of it.

        >>> archive.delta("shots").version() >= 0
        True
        """
        table = read.opened(self._store, name)
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

        A correction is one row, where the box score has it: the team's total, the occurrence that belongs to it and the
        play that was rewritten for it are its consequences. An inserted possession is one row, without those that
        follow it. Changes of `games` (status, tip-off) are listed whenever they happen. A unit that was withdrawn, or
        is back, is a change of the field `status` in each of its tables.

        >>> archive.corrections().columns[:3]
        ['table', 'team_id', 'game_id']
        """
        pl = library("polars", "archive")
        frame = read.scan(self._store, "corrections")
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
        moment = _aware("when", when)
        read.require(self._store)
        return read.AsOf(self._store, moment)

    def info(self) -> ArchiveInfo:
        """Rows, games, holes and freshness.

        >>> archive.info().games == games
        True
        """
        read.require(self._store)
        rows = read.coverage(self._store)
        games = [row for row in rows if row["operation"] == "game" and row["body_id"] is not None]
        counts = {name: table.count() for name in TABLES if (table := self._store.open(name)) is not None}
        corrections = self._store.open("corrections")
        shown = contract("coverage").names
        return ArchiveInfo(
            root=self._store.root,
            rows=counts,
            games=len(games),
            sessions=len({row["session_id"] for row in rows if row["session_id"] and row["status"] != "withdrawn"}),
            holes=[{name: row[name] for name in shown} for row in rows if is_hole(row)],
            unfinished=sum(not row["final"] for row in games),
            fetched_at=max((row["fetched_at"] for row in rows if row["fetched_at"]), default=None),
            corrections=corrections.count() if corrections else 0,
        )

    def report(
        self, path: "str | PathLike[str] | None" = None, *, since: "Time | None" = None
    ) -> "_page.ArchiveReport":
        """What the archive holds, what it lacks and what changed, as one static HTML page; a notebook shows it.

        Freshness, coverage by team and month, holes with their reasons, corrections since the last report, schema drift
        (of the bodies stored last), audit findings, units and requests.

        Parameters:
            path: a file to write; a report that is there tells when the last one was made.
            since: corrections since then; default: since the report at `path`, else all.

        Raises `FileNotFoundError` where there is no archive.

        >>> "Coverage by team and month" in archive.report().html
        True
        """
        from sideline.archive.page import ArchiveReport, gather, made_before, page

        start = _aware("since", since) if since is not None else made_before(Path(path)) if path is not None else None
        made = ArchiveReport(page(gather(self, start, datetime.now(UTC))))
        if path is not None:
            made.save(path)
        return made

    def audit(self) -> "_audit.Violations":
        """Returns the table `violations`: the rules of `sideline.audit` over the stored tables, coverage included.

        Events that are not over are left out. A session of which one table is missing is itself a violation: see
        `info().holes`.

        >>> archive.audit().num_rows
        0
        """
        return audits.audit(self._store)

    def files(self, table: str) -> list[str]:
        """The addresses of a table's Parquet files, for engines that do not read Delta Lake.

        They are the table as it stands now: the next sync may replace some of them.

        >>> import pyarrow.parquet
        >>> rows = sum(pyarrow.parquet.read_metadata(file).num_rows for file in archive.files("shots"))
        >>> rows == archive.to_arrow("shots").num_rows
        True
        """
        opened = read.opened(self._store, table)
        return [] if opened is None else sorted(opened.file_uris())

    def changes(self, since: "Time | None" = None) -> Changes:
        """The rows of every table that came, went or changed since an earlier state, by table.

        Applied to the rows of then, they give those of now: a deleted row leaves, an inserted one comes, and an updated
        one takes the place of the row with the same `sideline.archive.KEYS`.

        Parameters:
            since: the `version` of earlier changes, below 1,000,000,000: exact with any number of writers, until it is
                vacuumed; a time: what was stored after it by the clock of the machine that did; `None`: everything.

        >>> changes = archive.changes()
        >>> sum(rows.num_rows for rows in archive.changes(since=changes.version).values())
        0
        """
        read.require(self._store)
        now, version = state(self._store)
        if since is None:
            return rows_between(self._store, {}, now, version)
        if isinstance(since, int) and not isinstance(since, bool) and since < _FIRST_TIME:
            then = state(self._store, since)[0]
        else:
            then = state_at(self._store, _aware("since", since), now)
        return rows_between(self._store, then, now, version)

    def players(self, as_of: "Time | None" = None) -> Table:
        """Say who was on whose roster, and when: a row for each time that somebody was on one.

        It has the columns of `players`, as the last roster of that time has them, `team_name`, `listed_from` (when a
        stored roster first had the player) and `listed_until` (when one first had not; null: still listed). Nothing is
        known of the time before the first sync, and a stay that began and ended between two syncs is unknown.

        Parameters:
            as_of: only those who were listed at this time; default: everyone.

        >>> archive.players().column_names[-3:]
        ['team_name', 'listed_from', 'listed_until']
        """
        from sideline.archive.rosters import stints

        read.require(self._store)
        return Table._from_arrow("players", stints(self._store, None if as_of is None else _aware("as_of", as_of)))

    def status(
        self,
        team_ids: Iterable[int] | int | None = None,
        since: "Time | None" = None,
        *,
        correction_window: timedelta = _WINDOW,
    ) -> Table:
        """Say of each game and table whether it is in: a row for each, with a verdict and its reasons.

        `status` is "available" (fetched after the correction window of its game, final, and without a violation),
        "provisional" (complete, but it may still be corrected, or was not fetched since), "pending" (not over, or over
        for less than the usual delay), "late" (over for longer, and still not there), "degraded" (violations, far fewer
        rows than usual, a failed request since, or a list that could not be read: `reasons` says which), "missing",
        "forbidden" or "withdrawn". Of several sessions the worst is the table's. `last_changed` is when rows changed,
        `last_listed` when the service listed it last, `usual_delay_s` how long after the end nine of ten were there:
        null as long as the archive has not seen three games in time. Tables that no game of the archive has, because
        they were never requested or the service has none, have no row.

        It compares with this machine's clock, or the archive's `clock`, or with the service's of the last sync where
        that is ahead.

        Parameters:
            team_ids: games of these teams; default: all.
            since: games that start at this time or later.
            correction_window: how long after its end a game is expected to be corrected.

        >>> archive.status().column_names
        ['game_id', 'table', 'status', 'reasons', 'last_changed', 'last_listed', 'usual_delay_s']
        """
        from sideline.archive.status import status
        from sideline.archive.store import now

        if not isinstance(correction_window, timedelta):
            kind = type(correction_window).__name__
            raise TypeError(f"correction_window is a timedelta, not {kind}: write timedelta(days=7)")
        teams = _listed("team_ids", team_ids)
        if teams is not None and not all(str(team).isascii() and str(team).isdigit() for team in teams):
            raise ValueError(f"team_ids are numbers, not {teams}")
        return status(
            self._store,
            None if teams is None else {int(team) for team in teams},
            None if since is None else _aware("since", since),
            self._clock and self._clock(),
            now(),
            correction_window,
        )

    def export(self, to: str, *, schema: Literal["evolve", "freeze"] = "evolve") -> Exported:
        """Bring another database up to date with what changed since the last export into it.

        It is one transaction, which also stores in the target which bodies its rows are from: each change arrives
        exactly once, whenever an export is killed. Tables have their names and columns, nested values as JSON text;
        `coverage` and `corrections` are replaced as a whole. It takes `pip install "sideline[export]"`.

        Parameters:
            to: "postgresql://user@host/database", or "duckdb:///path/to/file.duckdb".
            schema: "evolve" adds columns that the target lacks, "freeze" refuses them after the first export.

        Returns the number of units whose rows were replaced, and of rows written by table. Raises `ValueError` for a
        target that holds other tables or another archive, or a column that a frozen schema lacks; `ConnectionError`
        where the target cannot be reached. Nothing is written then.

        >>> import tempfile
        >>> archive.export(f"duckdb://{tempfile.mkdtemp()}/season.duckdb").rows["shots"] > 0
        True
        """
        return deliver(self._store, to, schema)

    def compact(self) -> None:
        """Join the small files of each month. A sync does so where they are many; the past stays readable.

        >>> archive.compact()
        """
        read.require(self._store)
        compaction.join_all(self._store, (*TABLES, *own_schemas()))

    def vacuum(self, *, retain: timedelta = _RETAINED) -> int:
        """Delete files that were replaced longer ago than `retain`; returns how many.

        `as_of`, `corrections`, `changes` and `rebuild` read bodies that are kept, which no vacuum deletes. What it ends
        is Delta's own time travel, and a query that began before its files were replaced: retain no less than the
        longest query lasts.

        Parameters:
            retain: rounded up to hours; default: 7 days.

        >>> archive.vacuum() >= 0
        True
        """
        if not isinstance(retain, timedelta):
            raise TypeError(f"retain is a timedelta, not {type(retain).__name__}: write timedelta(days=7)")
        if retain < timedelta(0):
            raise ValueError(f"retain is {retain}: files that are in use have no negative age; write timedelta(days=7)")
        read.require(self._store)
        return compaction.vacuum(self._store, (*TABLES, *own_schemas()), retain)

    def rebuild(self, table: str) -> None:
        """Make a table anew from the bodies that were kept, with the columns that this version of sideline knows.

        Bodies of its operation that could not be decoded when they were fetched are tried again.

        >>> archive.rebuild("shots")
        """
        if table not in TABLES:
            raise ValueError(f"no table of bodies is named {table!r}; there are {', '.join(TABLES)}")
        from sideline.archive.rebuild import rebuild

        rebuild(self._store, table)

    def __repr__(self) -> str:
        return f"<sideline.Archive {self._store.root}>" if hasattr(self, "_store") else "<sideline.Archive, not built>"

    def _repr_html_(self) -> str:
        try:
            return self.info()._repr_html_()
        except FileNotFoundError:
            return f"<div>{escape(repr(self))}: no archive there yet</div>"


def _listed(name: str, ids: Any) -> list[Any] | None:
    if ids is None:
        return None
    # In an archive they have no order.
    several = many(name, sorted(ids) if isinstance(ids, (set, frozenset)) else ids)
    return _ids(name, [ids]) if several is None else several


def _aware(name: str, when: "Time") -> datetime:
    milliseconds = _epoch_ms(name, when)
    if isinstance(when, datetime):
        # As fine as it is.
        return when
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _named(name: str, rows: list[dict[str, Any]]) -> Table:
    target = contract(name)
    return Table._from_arrow(name, read.conformed(to_arrow(rows, name).select(target.names), target))


def _drift_counts(client: "sideline.Client") -> dict[tuple[str, str], int]:
    return {(row["operation"], row["path"]): row["count"] for row in client.drift().to_dicts()}


def _drift_since(client: "sideline.Client", before: Mapping[tuple[str, str], int]) -> Table:
    """The rows of the client's `drift` that grew, with how much they did."""
    pa = library("pyarrow", "archive")
    table = client.drift().to_arrow()
    rows = [
        {**row, "count": row["count"] - before.get((row["operation"], row["path"]), 0)} for row in table.to_pylist()
    ]
    return Table._from_arrow("drift", pa.Table.from_pylist([row for row in rows if row["count"]], table.schema))
