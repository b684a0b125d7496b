"""A season on disk or in a bucket: Delta Lake tables that are fetched once, kept current, and read without the service.

    _listing.py          reads lists of events and games: pure
    _plan.py             decides what to request: pure
    _withdrawals.py      finds what lists no longer have: pure
    _discovery.py        requests the lists of one sync
    _fetch.py            requests units, returns outcomes
    _decode.py           decodes a body into the stored rows
    _sync.py             runs one sync: discover, plan, fetch, store
    _writer.py           writes outcomes, safe against kills and other writers
    _stored_bodies.py    stores bodies in `raw`, each once
    _table_rows.py       writes the rows of bodies into the tables
    _life.py             is the life of a unit, as a state machine: pure
    _ledger.py           writes rows of `coverage` that have no body
    _rosters.py          tells who was on a roster, and when
    _corrections.py      compares two bodies of a unit: pure
    _leases.py           shares units between machines on one bucket
    _schemas.py          describes the tables, as stored and as read
    _store.py            opens, creates and changes Delta tables
    _settled.py          finds the entries of lists that need no work
    _raw.py              adds bodies to their table, finds those without an account
    _storage_types.py    converts rows to what Delta Lake has
    _commits.py          writes files of tables and commits them
    _settings.py         names the quantities of a sync
    _storage_options.py  holds the options of an object store, which are secrets
    _compaction.py       compacts small files, deletes replaced ones
    _refresh.py          syncs what one query needs: a scan that reads through
    _parts.py            divides a stored table among the tasks of an engine
    _query_scope.py      reads which tables and games a query names
    _read.py             reads tables with polars and Arrow
    _sql.py              runs locked queries of DuckDB
    _as_of.py            reads tables as of a time
    _status.py           judges whether each table of each game is complete
    _tracking.py         computes answers from stored positions
    _audits.py           applies the rules of sideline.audit to the stored tables
    _changes.py          computes the rows by which two states differ
    _export.py           writes changes to another database
    _export_target.py    reads and writes that database by ADBC
    _export_values.py    converts rows to what it can hold
    _pseudonyms.py       replaces names and ids in exported and published rows
    _publish.py          writes a season as Parquet with a manifest, and verifies it
    _rebuild.py          decodes a table again from the stored bodies
    _report.py           summarises a sync and an archive
    _store_errors.py     explains missing credentials, damaged files and full disks
    _html_report.py      renders the morning report

The examples run against the simulator. They assume an `archive` that holds `games` games, one of which is `game_id`.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from .._client import (
    ArchiveTable,
    Duration,
    Ids,
    ProgressOption,
    SyncTable,
    Time,
    as_timedelta,
    check_on_error,
    check_range,
    core_of,
    several,
    table_from_arrow,
    waits,
)
from .._companions import pseudonyms_of
from .._core import Table, _epoch_ms, _ids
from .._lazy import LazyModule, open_door
from .._rows import did_you_mean, notebook_html
from . import _arrow, _audits, _compaction, _plan, _publish, _read, _refresh, _sql, _tracking
from ._as_of import AsOf
from ._changes import KEYS, Changes, ChangeStream, State, current_state, state_at
from ._export import Exported, export as export_changes
from ._export_target import Address
from ._html_report import ArchiveReport, gather, record_report, render, zone_of_report
from ._libraries import pl
from ._life import is_lacking
from ._memory import returned_blocks
from ._parts import PartScope as PartScope, StoredPart as StoredPart, parts_of
from ._plan import ANSWERS as ANSWERS, TABLES as TABLES
from ._publish import verify
from ._read import names_damage
from ._report import ArchiveInfo, SyncReport
from ._schemas import internal_schemas as internal_schemas, public_schema as public_schema
from ._storage_options import Options
from ._store import Store as Store
from ._sync import Sync
from ._writer import rows_to_arrow

if TYPE_CHECKING:
    import deltalake
    import duckdb
    import polars
    import pyarrow

    from .. import _answers as audits, _client
    from .._companions import Pseudonyms
    from ._discovery import Discovery as Discovery
    from ._fetch import Outcome as Outcome, Refusals as Refusals, map_in_threads as map_in_threads
    from ._last_night import box_score_of as box_score_of
    from ._leases import is_available as is_available
    from ._life import COMPLETE as COMPLETE, PROBLEMS as PROBLEMS, SEVERITY as SEVERITY
    from ._listing import Event as Event
    from ._memory import load_deltalake as load_deltalake
    from ._plan import (
        GAME_OPERATIONS as GAME_OPERATIONS,
        RESOURCES as RESOURCES,
        SESSION_OPERATIONS as SESSION_OPERATIONS,
        team_numbers as team_numbers,
        units_within as units_within,
        unlisted_games as unlisted_games,
    )
    from ._report import hole_line as hole_line
    from ._sql import POSITION_TABLES as POSITION_TABLES, scope_of as scope_of, select as select
else:
    # What other rooms use of this one.
    __getattr__ = open_door(
        __name__,
        {
            "_discovery": "Discovery",
            "_fetch": "Outcome Refusals map_in_threads",
            "_last_night": "box_score_of",
            "_leases": "is_available",
            "_life": "COMPLETE PROBLEMS SEVERITY",
            "_listing": "Event",
            "_memory": "load_deltalake",
            "_plan": "GAME_OPERATIONS RESOURCES SESSION_OPERATIONS team_numbers units_within unlisted_games",
            "_report": "hole_line",
            "_sql": "POSITION_TABLES scope_of select",
        },
    )
    deltalake, duckdb, polars, pyarrow = map(LazyModule, ("deltalake", "duckdb", "polars", "pyarrow"))
    audits, _client = LazyModule("sideline._answers"), LazyModule("sideline._client")

__all__ = [
    "KEYS",
    "Archive",
    "ArchiveInfo",
    "ArchiveReport",
    "AsOf",
    "ChangeStream",
    "Changes",
    "Exported",
    "SyncReport",
    "verify",
]

_MIN_EPOCH_MS = 1_000_000_000
"""Times in epoch milliseconds are larger, versions of an archive are smaller."""

_CORRECTION_WINDOW = timedelta(days=7)
_RETENTION = timedelta(days=7)


class Archive:
    """A season's tables in a folder or an object store, as Delta Lake tables.

    It requires `pip install "sideline[archive]"`. Reading needs no client; if the folder holds no archive, every read
    raises `FileNotFoundError`. Several processes may sync one archive at the same time, and an interrupted sync
    resumes without losing or duplicating rows.

    Parameters:
        root: a folder, created by the first sync, or an address: "s3://…", "gs://…", "az://…", "file://…".
        client: a `sideline.Client`; only `sync` needs it.
        storage_options: options of the object store for `deltalake`, which also reads the environment. They are not
            pickled.
        clock: returns the time by which a sync plans; default: the time in the service's first response (`Date`; for a
            simulator with a frozen clock the season's time), or this machine's clock.


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
        client: "_client.Client | None" = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        options = Options(storage_options)
        # A traceback with locals must not show them.
        del storage_options
        self._store = Store(root, options)
        self._client = client
        self._clock = clock

    @names_damage
    def sync(
        self,
        *,
        team_ids: "Ids | None" = None,
        game_ids: "Ids | None" = None,
        start: "Time | None" = None,
        end: "Time | None" = None,
        tables: Iterable[SyncTable] | SyncTable | None = None,
        progress: ProgressOption = None,
        correction_window: Duration | None = _CORRECTION_WINDOW,
        on_error: Literal["raise", "keep"] = "raise",
    ) -> SyncReport:
        """Fetch units that are new, were unfinished, or may still be corrected, and store them.

        It plans from the schedule and the teams' events, including practices. A game of the schedule that no team's
        events list is requested by its id. Every table is requested for every session. A failure never replaces a
        stored row. See the documentation: Trust, for what each status means, and for when a game or session counts as
        withdrawn.

        Parameters:
            team_ids: their ids, or a table with them; default: all teams that the client may read.
            game_ids: only these games, instead of a range; without schedule and rosters.
            start, end: the range; without `end` it ends now.
            tables: the tables to store, with the other tables of their bodies and the events that list their
                sessions; default: all but `locations`. With `locations`, the sync computes `tracking_loads` and
                `tracking_defenders`; each names what it needs.
            progress: True, False, or a function of `sideline.Progress`; by default a sync on a terminal or in a
                notebook shows a bar after half a second.
            correction_window: how long after its end a game is requested again; `None`: always.
            on_error: "raise" stores what was fetched, then raises `IncompleteSync` with `.report` if there is a hole;
                "keep" returns the report.

        Raises `AuthenticationError` if the service refuses the credentials, and `ConnectError` if it cannot be reached;
        data stored before that is kept. Raises `ConfigurationError` if it is another service than the archive's.


        >>> season = sideline.Archive("season", client)
        >>> report = season.sync(team_ids=[team_id], start="2026-11-01", end="2026-11-08")
        >>> report.coverage.column_names == sideline.SCHEMAS["coverage"].names
        True
        >>> report.holes, report.drift.num_rows
        ([], 0)
        """
        check_on_error(on_error)
        window = None if correction_window is None else as_timedelta("correction_window", correction_window)
        teams, games, operations = self._check_sync(team_ids, game_ids, start, end, tables)
        report = self._run(operations, teams, games, start, end, window=window, progress=progress)
        if on_error == "raise":
            report.raise_if_incomplete()
        return report

    def _run(
        self,
        operations: frozenset[str],
        teams: list[int] | None,
        games: list[str] | None,
        start: "Time | None",
        end: "Time | None",
        **options: Any,
    ) -> SyncReport:
        client = self._client_of_sync()
        before = _drift_counts(client)
        run = Sync(self._store, client, operations=_plan.with_events(operations), clock=self._clock, **options)
        has_locations = "locations" in operations
        with returned_blocks() if has_locations else nullcontext():
            run.run(teams, games, start, end)
            if has_locations:
                _tracking.update(self._store)
        return SyncReport(
            _public("coverage", run.account()),
            _public("corrections", rows_to_arrow(run.corrections, "corrections")),
            _drift_since(client, before),
        )

    def _check_sync(
        self,
        team_ids: "Ids | None",
        game_ids: "Ids | None",
        start: "Time | None",
        end: "Time | None",
        tables: Iterable[str] | str | None,
    ) -> "tuple[list[int] | None, list[str] | None, frozenset[str]]":
        """Return teams, games and operations. Invalid arguments raise before anything is requested or written."""
        client = self._client_of_sync()
        if game_ids is None and start is None:
            raise ValueError("give the range: start=, and end= if it does not end now; or game_ids=")
        if game_ids is not None and any(option is not None for option in (team_ids, start, end)):
            raise ValueError("give a range, with or without team_ids, or game_ids, but not both")
        operations = _plan.operations(tables)
        teams = _team_ids(team_ids)
        games = _id_list("game_ids", game_ids)
        if games is not None and not all(str(game).strip() for game in games or [""]):
            raise ValueError("game_ids has no game, or an empty id: if a search found none, check it; or give a range")
        if game_ids is None and start is not None and (end is not None or self._clock is not None):
            check_range(start, end, self._clock and self._clock())
        core_of(client).check_credentials()
        return (
            teams,
            games if games is None else list(dict.fromkeys(map(str, games))),
            operations,
        )

    def _client_of_sync(self) -> "_client.Client":
        if self._client is None or not waits(self._client):
            raise ValueError("sync needs a synchronous client: sideline.Archive(root, sideline.Client())")
        return self._client

    def scan(
        self,
        name: ArchiveTable,
        *,
        refresh: "Duration | bool" = False,
        start: "Time | None" = None,
        end: "Time | None" = None,
    ) -> "polars.LazyFrame":
        """Return a table as a polars LazyFrame, with the columns and types of `sideline.SCHEMAS`.

        `coverage` (a row for each unit ever planned), `corrections` and `raw` are tables too. `players` also has
        `listed_from` and `listed_until`, and keeps every player of any stored roster.

        Parameters:
            refresh: how old a response may be, for example `timedelta(minutes=10)`; True is an hour. A query then
                first syncs what its filter needs and the archive lacks, or has for longer and may have changed. A
                filter by `game_id` or `session_id` syncs only these games. A second query sends nothing.
            start, end: the range to sync; never which rows return. By default that of the filter's times, else all
                that the archive holds. Without an end, until now; games and events a year ahead.

        With `refresh`, a hole in what the query needs raises `IncompleteSync` when it is collected. Warns of a table of
        sessions or games that is empty because no sync has requested it.

        >>> archive.scan("player_stats").filter(stat="PTS", is_team_total=True).collect().height
        4
        >>> season = sideline.Archive("season", client)
        >>> fresh = season.scan("shots", refresh=True, start="2026-07-01", end="2027-07-01")
        >>> fresh.filter(game_id=game_id).collect().height > 0
        True
        """
        checked_refresh = self._checked_refresh(refresh, start, end)
        if checked_refresh is None:
            return _read.scan(self._store, name, warn=True)
        return _refresh.scan(self._store, name, checked_refresh, self._sync_for_query)

    def _checked_refresh(
        self, refresh: "Duration | bool", start: "Time | None", end: "Time | None"
    ) -> _refresh.Refresh | None:
        """Return what a query refreshes, or `None`. Invalid arguments raise before anything is requested."""
        if refresh is False:
            if start is not None or end is not None:
                raise ValueError("start= and end= are the range to refresh: give refresh= too, or filter the rows")
            return None
        max_age = timedelta(hours=1) if refresh is True else as_timedelta("refresh", refresh)
        if start is not None and end is not None:
            check_range(start, end, None)
        self._client_of_sync()
        return _refresh.Refresh(max_age, start, end)

    def _sync_for_query(self, need: _refresh.Need) -> None:
        self._check_sync(None, need.game_ids, need.start, need.end, need.tables)
        self._run(
            _plan.operations(need.tables),
            None,
            need.game_ids,
            need.start,
            need.end,
            window=_CORRECTION_WINDOW,
            progress=None,
            only=need.only,
            fresh_after=need.fresh_after,
        ).raise_if_incomplete()

    def _parts(
        self, table: "_client.TableName", scope: PartScope, columns: Sequence[str], count: int
    ) -> list[StoredPart]:
        """Bring the rows of the scope up to date, and return parts of them for an engine's tasks."""
        refresh = self._checked_refresh(True, scope.start, scope.end)
        assert refresh is not None
        _refresh.bring_up_to_date(self._store, [table], scope.predicate(), refresh, self._sync_for_query)
        return parts_of(self._store, table, scope.in_times(_to_datetime), columns, count)

    def delta(self, name: ArchiveTable) -> "deltalake.DeltaTable":
        """Return a table as a `deltalake.DeltaTable`: the stored data, in microseconds and without dictionaries.

        It also has the archive's internal columns. Raises `ValueError` if nothing of the table is stored.

        >>> archive.delta("shots").version() >= 0
        True
        """
        table = _read.open_table(self._store, name)
        if table is None:
            raise ValueError(f"nothing is stored of {name} yet")
        return table

    @names_damage
    def sql(
        self,
        query: str,
        *,
        max_rows: int = 1_000_000,
        timeout: Duration = 60.0,
        memory_limit: str = "1GB",
        refresh: "Duration | bool" = False,
        start: "Time | None" = None,
        end: "Time | None" = None,
    ) -> "Table":
        """Run one `select` of DuckDB over the tables, by their names. It can neither read nor write anything else.

        Times are in UTC, integers and decimal numbers of 64 bits; types that a `Table` lacks (dates, structs) are text.
        Raises `QueryError` for other statements, for mistakes in the query, and where it exceeds `max_rows`, `timeout`
        or `memory_limit`: no row is left out. Warns of tables as `scan`.

        Parameters:
            max_rows: the largest number of rows that the query may have.
            timeout: how long it may run.
            memory_limit: how much memory DuckDB may use.
            refresh: how old a response may be; True is an hour. The tables that the query names are first synced for
                the whole range, whatever its filter: a filter of `scan` saves requests.
            start, end: the range to sync; by default all that the archive holds. Without an end as `scan`.

        >>> archive.sql("select count(distinct session_id) as sessions from stat_events").to_dicts()
        [{'sessions': 2}]
        """
        wait = as_timedelta("timeout", timeout).total_seconds()
        if (checked_refresh := self._checked_refresh(refresh, start, end)) is not None:
            tables = _refresh.refreshable(_sql.scope_of(query))
            if not tables:
                raise ValueError("the query names no table that a sync refreshes: leave out refresh=")
            _refresh.bring_up_to_date(self._store, tables, None, checked_refresh, self._sync_for_query)
        return table_from_arrow("query", _sql.select(self._store, query, max_rows, wait, memory_limit))

    @names_damage
    def connect(self) -> "duckdb.DuckDBPyConnection":
        """Return an open DuckDB connection that has the tables as views, for queries that `sql` refuses.

        >>> archive.connect().sql("select count(distinct session_id) from stat_events").fetchall()
        [(2,)]
        """
        return _sql.connect(self._store)

    @names_damage
    def to_arrow(self, name: ArchiveTable) -> "pyarrow.Table":
        """Return a whole table as a `pyarrow.Table`, with the columns and types of `sideline.SCHEMAS`. Warns as `scan`.

        >>> archive.to_arrow("shots").column_names[:2]
        ['session_id', 'game_id']
        """
        return _read.to_arrow(self._store, name, warn=True)

    @names_damage
    def corrections(self, since: "Time | None" = None) -> Table:
        """Return changes of stored values after their game was over, the newest last.

        A corrected stat is one row, for the box score; the team's total, the occurrence and the play that follow from
        it have no rows. An inserted possession is one row, without the possessions after it. Changes of `games`
        (status, tip-off) are always listed. A withdrawn unit, or one that returns, is a change of the field `status` in
        each of its tables.

        >>> archive.corrections().column_names[:3]
        ['table', 'team_id', 'game_id']
        """
        frame = _read.scan(self._store, "corrections")
        if since is not None:
            # The column has milliseconds.
            since = _to_datetime("since", since)
            since = since.replace(microsecond=since.microsecond // 1000 * 1000)
            frame = frame.filter(pl.col("seen_at") >= since)
        rows = frame.sort("seen_at", maintain_order=True).collect().to_arrow()
        return table_from_arrow("corrections", _read.conform(rows, public_schema("corrections")))

    def as_of(self, when: "Time") -> AsOf:
        """Return the archive as of a time: `as_of(when).scan(name)` has every table as it was stored then.

        >>> import datetime
        >>> archive.as_of(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)).scan("shots").collect().height
        0
        """
        moment = _to_datetime("when", when)
        _read.require(self._store)
        return AsOf(self._store, moment)

    @names_damage
    def info(self) -> ArchiveInfo:
        """Return the numbers of rows, games and holes, and how fresh they are.

        >>> archive.info().games == games
        True
        """
        _read.require(self._store)
        rows = _read.coverage(self._store)
        games = [row for row in rows if row["operation"] == "game" and row["body_id"] is not None]
        counts = _read.counts_of_rows(self._store, (*TABLES, *ANSWERS, "corrections"))
        corrections = counts.pop("corrections", 0)
        columns = public_schema("coverage").names
        return ArchiveInfo(
            root=self._store.root,
            rows=counts,
            games=len(games),
            sessions=len({row["session_id"] for row in rows if row["session_id"] and row["status"] != "withdrawn"}),
            holes=[{name: row[name] for name in columns} for row in rows if is_lacking(row["status"])],
            unfinished=sum(not row["final"] for row in games),
            fetched_at=max((row["fetched_at"] for row in rows if row["fetched_at"]), default=None),
            corrections=corrections,
        )

    @names_damage
    def report(
        self, path: "str | PathLike[str] | None" = None, *, since: "Time | None" = None, tz: str | None = None
    ) -> ArchiveReport:
        """Return one static HTML page about the archive, which a notebook displays.

        It has verdicts, last night's scores and leaders, loads and shot quality, holes with their reasons, corrections
        since the last report, audit findings, schema drift (of the bodies stored last), coverage by team and month,
        freshness, units and requests.

        Parameters:
            path: the file to write, or "-" for standard output. The archive keeps the time of the last report that was
                written, whatever its path.
            since: corrections since this time; default: since the last report that was written, or all.
            tz: the zone of the times, such as "America/New_York"; default: that of `SIDELINE_TZ`, else UTC.

        Raises `FileNotFoundError` if there is no archive, and `ValueError` for an unknown zone.

        >>> "Coverage by team and month" in archive.report().html
        True
        """
        made_at = datetime.now(UTC)
        start = None if since is None else _to_datetime("since", since)
        facts = gather(self, start, made_at, zone_of_report(tz), self._judge)
        html_report = ArchiveReport(render(facts))
        if path is not None:
            html_report.save(path)
            record_report(self._store, facts)
        return html_report

    @names_damage
    def audit(self) -> "audits.Violations":
        """Return the table `violations`: the rules of `sideline.audit` applied to the stored tables and coverage.

        Events that are not over, and tables that were never requested for an event, are left out. A session that lacks
        a table is a violation too: see `info().holes`.

        >>> archive.audit().num_rows
        0
        """
        return _audits.audit(self._store)

    @names_damage
    def tracking(self, game_id: str, *, on_error: Literal["raise", "keep"] = "raise") -> "audits.Tracking":
        """Return the positions of a game from the stored tables, without a request.

        See the documentation: Positions to answers.

        Parameters:
            game_id: a game whose locations are stored: `sync(tables=["locations", ...])`.
            on_error: "raise" `IncompleteError` if a session's body is missing, or "keep" the rest: its frames are
                missing.

        >>> season = sideline.Archive("season", client)
        >>> report = season.sync(game_ids=[game_id], tables=["tracking_loads", "players", "sessions"])
        >>> season.tracking(game_id).loads().num_rows > 20
        True
        """
        check_on_error(on_error)
        return _tracking.tracking(self._store, str(game_id), keep=on_error == "keep")

    def files(self, table: ArchiveTable) -> list[str]:
        """Return the addresses of a table's Parquet files, for engines that do not read Delta Lake.

        They are the current files: the next sync may replace some of them.

        >>> import pyarrow.parquet
        >>> rows = sum(pyarrow.parquet.read_metadata(file).num_rows for file in archive.files("shots"))
        >>> rows == archive.to_arrow("shots").num_rows
        True
        """
        delta_table = _read.open_table(self._store, table)
        return [] if delta_table is None else sorted(delta_table.file_uris())

    @names_damage
    def changes(self, since: "Time | None" = None) -> Changes:
        """Return the rows inserted, updated and deleted since an earlier state, by table, as Arrow streams.

        Applied to the earlier rows, they give the current ones: an updated row replaces the row with the same
        `sideline.archive.KEYS`. `tracking_loads` and `tracking_defenders`, which a sync computes, have no changes.

        Parameters:
            since: the `version` of earlier changes, below 1,000,000,000: exact with any number of writers, kept for the
                last 100 versions until it is vacuumed; or a time: data stored after it, by the clock of the machine
                that stored it; `None`: everything. Both mean nothing to an archive that was restored from an earlier
                copy: replace all rows once.

        >>> changes = archive.changes()
        >>> sum(rows.table().num_rows for rows in archive.changes(since=changes.version).values())
        0
        """
        _read.require(self._store)
        now, version = current_state(self._store)
        if since is None:
            return Changes(self._store, State(), now, version)
        if isinstance(since, int) and not isinstance(since, bool) and since < _MIN_EPOCH_MS:
            earlier = current_state(self._store, since)[0]
        else:
            earlier = state_at(self._store, _to_datetime("since", since), now)
        return Changes(self._store, earlier, now, version)

    @names_damage
    def players(self, as_of: "Time | None" = None) -> Table:
        """Return who was on which roster, and when: a row for each stay of a player on a team's roster.

        It has the columns of `players` with the values of the last roster of the stay, `team_name`, `listed_from` (when
        a stored roster first listed the player) and `listed_until` (when one first did not; null: still listed).
        Nothing is known about the time before the first sync, or about a stay that began and ended between two syncs.

        Parameters:
            as_of: only players listed at this time; default: everyone.

        >>> archive.players().column_names[-3:]
        ['team_name', 'listed_from', 'listed_until']
        """
        from ._rosters import stints

        _read.require(self._store)
        return table_from_arrow("players", stints(self._store, None if as_of is None else _to_datetime("as_of", as_of)))

    @names_damage
    def status(
        self,
        team_ids: "Ids | None" = None,
        since: "Time | None" = None,
        *,
        correction_window: Duration = _CORRECTION_WINDOW,
    ) -> Table:
        """Return one row for each game and table, with a verdict on its completeness and the reasons.

        `status` is "available" (fetched after the correction window of its game, final, and without a violation),
        "provisional" (complete, but it may still be corrected, or was not fetched since), "pending" (not over, or over
        for less than the usual delay), "late" (over for longer, and still missing), "degraded" (violations, far fewer
        rows than usual, a failed request since, or a list that could not be read: see `reasons`), "missing",
        "forbidden" or "withdrawn". The worst status of several sessions is that of the table. `last_changed` is when
        rows changed, `last_listed` when the service last listed it, `usual_delay_s` the time after the end by which
        nine of ten bodies were fetched: null until the archive has three that were requested in time. A table that was
        never requested for a game, or that no game of the archive has, has no row.
        `checked` says whether rules compared the rows with others that would show a gap.

        "Now" is the later of this machine's clock and the service's clock at the last sync, or the archive's `clock`.

        Parameters:
            team_ids: games of these teams; default: all. Raises `ValueError` for a team that the archive does not have.
            since: games that start at this time or later.
            correction_window: how long after its end a game may be corrected.

        >>> archive.status().column_names
        ['game_id', 'table', 'status', 'checked', 'reasons', 'last_changed', 'last_listed', 'usual_delay_s']
        """
        window = as_timedelta("correction_window", correction_window)
        start = None if since is None else _to_datetime("since", since)
        return self._judge(None, _team_ids(team_ids), start, window)

    def _judge(
        self,
        violations: "Iterable[audits.Violations] | None",
        team_ids: "Collection[int] | None" = None,
        since: datetime | None = None,
        window: timedelta = _CORRECTION_WINDOW,
    ) -> Table:
        from ._status import status
        from ._store import now

        return status(self._store, team_ids, since, self._clock and self._clock(), now(), window, violations)

    def export(
        self,
        to: object,
        tables: Iterable[str] | str | None = None,
        *,
        schema: Literal["evolve", "freeze"] = "evolve",
        pseudonyms: "str | bytes | Literal[True] | None" = None,
    ) -> Exported:
        """Bring another database up to date with the changes since the last export into it.

        An export is one transaction, which also records in the target which bodies its rows are from: each change
        arrives exactly once, even if an export is interrupted. Tables keep their names, columns and descriptions, and
        nested values are JSON. In PostgreSQL, tables have primary keys and indexes. It requires `pip install
        "sideline[export]"`.

        Parameters:
            to: "postgresql://user@host/database", "duckdb:///path/to/file.duckdb", or an open ADBC connection to any
                database whose driver supports ingestion. An export commits on the connection and does not close it.
            tables: names of tables; default: all. A table that was exported once is kept up to date.
            schema: "evolve" adds columns that the target lacks, "freeze" rejects them after the first export.
            pseudonyms: replaces names, ids, jersey numbers, references and links by this key, of at least 16 bytes;
                `True` is your own key in the state folder (documentation: Your first day, "Pseudonyms"). A
                target keeps its key.

        Returns the number of units whose rows were replaced, the numbers of rows written by table, and what the target
        could not hold: such a value is null there, such a column is left out, and everything else arrives. Raises
        `ValueError` for a target with other tables or another archive, or a column that a frozen schema lacks,
        `ConnectionError` if the target cannot be reached, and `SidelineError` if it refuses a statement. Nothing is
        written then.

        >>> import tempfile
        >>> archive.export(f"duckdb://{tempfile.mkdtemp()}/season.duckdb").rows["shots"] > 0
        True
        """
        # The wrapper's frame of a decorated method would show the password in a traceback with locals.
        target = Address(to) if isinstance(to, str) else to
        del to
        names = None if pseudonyms is None else pseudonyms_of(pseudonyms)
        del pseudonyms
        return self._export(target, tables, schema, names)

    @names_damage
    def _export(
        self,
        to: object,
        tables: Iterable[str] | str | None,
        schema: Literal["evolve", "freeze"],
        pseudonyms: "Pseudonyms | None",
    ) -> Exported:
        return export_changes(self._store, to, tables, schema, pseudonyms)

    def publish(self, path: "str | PathLike[str]", *, pseudonyms: "str | bytes | Literal[True] | None" = None) -> None:
        """Write the tables as Parquet into a new folder, with a manifest by which anybody can verify them.

        Each table is in `TABLE/*.parquet`. `manifest.json` has the rows, bytes and SHA-256 of each file, the version of
        each table's schema, and the verdict of each game. `sideline verify FOLDER` compares the files with it.

        Parameters:
            path: the folder, which is new or empty. It appears when it is complete.
            pseudonyms: as in `export`: tables of one key can be joined, those of two keys cannot.

        Raises `FileExistsError` if the folder is not empty.

        >>> import tempfile
        >>> archive.publish(f"{tempfile.mkdtemp()}/release")
        """
        names = None if pseudonyms is None else pseudonyms_of(pseudonyms)
        # The wrapper's frame of a decorated method would show the key in a traceback with locals.
        del pseudonyms
        self._publish(path, names)

    @names_damage
    def _publish(self, path: "str | PathLike[str]", pseudonyms: "Pseudonyms | None") -> None:
        _publish.publish(self._store, path, self.status(), pseudonyms)

    @names_damage
    def compact(self) -> None:
        """Compact the small files of each month. A sync does so itself for months with many files.

        >>> archive.compact()
        """
        _read.require(self._store)
        _compaction.compact_all(self._store, (*TABLES, *ANSWERS, *internal_schemas()))

    def vacuum(self, *, retain: Duration = _RETENTION) -> int:
        """Delete files that were replaced longer ago than `retain`; returns their number.

        `as_of`, `corrections`, `changes` and `rebuild` read the stored bodies, which a vacuum never deletes. A vacuum
        limits Delta's own time travel and breaks queries that still read replaced files: retain files for at least as
        long as your longest query runs.

        Parameters:
            retain: rounded up to hours; default: 7 days.

        >>> archive.vacuum() >= 0
        True
        """
        min_age = as_timedelta("retain", retain)
        _read.require(self._store)
        return _compaction.vacuum(self._store, (*TABLES, *ANSWERS, *internal_schemas()), min_age)

    @names_damage
    def rebuild(self, table: SyncTable) -> None:
        """Decode a table again from the stored bodies, with the columns of this version of sideline.

        It also tries bodies of the table's operations that could not be decoded when they were fetched.

        >>> archive.rebuild("shots")
        """
        if table not in TABLES:
            hint = did_you_mean(table, TABLES)
            raise ValueError(f"no table of bodies is named {table!r}; there are {', '.join(TABLES)}{hint}")
        from ._rebuild import rebuild

        rebuild(self._store, table)

    def __repr__(self) -> str:
        return f"<sideline.Archive {self._store.root}>" if hasattr(self, "_store") else "<sideline.Archive, not built>"

    def _repr_html_(self) -> str:
        try:
            return self.info()._repr_html_()
        except FileNotFoundError:
            return notebook_html({"notes": [f"{self!r}: no archive there yet"]})


def _id_list(name: str, ids: Any) -> list[Any] | None:
    if ids is None:
        return None
    # Ids of an archive have no order, so a set is accepted.
    id_list = several(name, sorted(ids) if isinstance(ids, (set, frozenset)) else ids)
    return _ids(name, [ids]) if id_list is None else id_list


def _team_ids(ids: Any) -> list[int] | None:
    teams = _id_list("team_ids", ids)
    return None if teams is None else _plan.team_numbers(teams)


def _to_datetime(name: str, when: "Time") -> datetime:
    milliseconds = _epoch_ms(name, when)
    try:
        # A datetime keeps its microseconds.
        is_datetime = isinstance(when, datetime)
        return when.astimezone(UTC) if is_datetime else datetime.fromtimestamp(milliseconds / 1000, UTC)  # type: ignore[union-attr]
    except (OSError, OverflowError, ValueError):
        advice = "write a time from 1990 to 2100, in epoch milliseconds if as a number"
        raise ValueError(f"{name} is {when}; {advice}") from None


def _public(name: str, table: "pyarrow.Table") -> Table:
    target = public_schema(name)
    return table_from_arrow(name, _read.conform(table.select(target.names), target))


def _drift_counts(client: "_client.Client") -> dict[tuple[str, str], int]:
    return {(row["operation"], row["path"]): row["count"] for row in client.drift().to_dicts()}


def _drift_since(client: "_client.Client", before: Mapping[tuple[str, str], int]) -> Table:
    """Return the rows of the client's `drift` whose count grew, with the difference."""
    drift = client.drift()
    rows = [{**row, "count": row["count"] - before.get((row["operation"], row["path"]), 0)} for row in drift.to_dicts()]
    return table_from_arrow("drift", _arrow.table([row for row in rows if row["count"]], drift.to_arrow().schema))
