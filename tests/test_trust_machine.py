"""Nothing is lost without a word, whatever the service does: a machine that drives the second service and an archive of it.

Rules change the season, break responses, kill the writer, move clocks, and sync. After each sync every row that is missing or extra is named by the
report or the archive's coverage; once all faults are lifted, the archive equals the truth row for row. Histories are always the same ones: the
six that planted faults are played against (TRUST_FAULTS.md), and 1,000 more in the extended tier. HYPOTHESIS_EXAMPLES sets another number, at random.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import Killed, killed_after
from hypothesis import HealthCheck, Phase, note, seed, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from needs import ARCHIVE, require
from service import Fault, Features, Mutations, Season, Service
from trust import COMPARED_NAMES, KINDS, LIES, PARENTS, Memory, describe, fault_options, find_unnamed, untrue

import sideline
from views import Views, refused_units

require(*ARCHIVE, extra="archive")
duckdb = pytest.importorskip("duckdb", reason="needs duckdb: pip install 'sideline[archive]'")

EXAMPLES = os.environ.get("HYPOTHESIS_EXAMPLES")
FAULT_HISTORIES = os.environ.get("TRUST_FAULT_HISTORIES")
"""Of these, those that a planted fault is played against (benches/trust_faults.py)."""
EXTENDED_HISTORIES_WITH_VIEWS = 3
"""Of the extended tier's, one in so many reads every view after each sync: that takes as long as the sync."""
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
SEASON = {"start": "2027-02-01", "end": "2027-04-15"}
SIZE = {"teams": 3, "players": 6, "games": 3, "sessions": (1, 2), "possessions": 3, "practices": 1, "upcoming": 1, "days": 4}

MUTATIONS = sorted(Mutations(Season(teams=2, games=1, now=NOW)).all)
OPERATIONS = ("teams", "schedule", "team_events", "roster", "game", "stats", "stats_details", "possessions", "shots", "locations", "play_by_play")
OPERATION = st.sampled_from((None, *OPERATIONS))
COMMON_OPERATIONS = {"schedule", "game", "team_events", "stats", "possessions"}
"""The operations whose tables most machines sync: each takes its time."""
PRIVILEGES = ("stats", "shots", "rosters")
ENDINGS = (sideline.TransportError, sideline.AuthenticationError)
"""What may end a sync: a service that cannot be reached, refused credentials."""


Rows = list[dict[str, Any]]


def rows_of(table: Any) -> Rows:
    """The rows in one order, whatever that of the table, without nulls (a later body may add a column) and the times of syncs."""
    rows = ({name: value for name, value in row.items() if value is not None and not name.startswith("listed_")} for row in table.to_pylist())
    return sorted(rows, key=repr)


def replay(rows: Rows, changes: Any, name: str) -> Rows:
    """The rows after changes: an updated row replaces the one with the same key."""
    left = [*rows]
    for change in rows_of(changes):
        kind = change.pop("_change")
        if kind == "update":
            [old] = [row for row in left if all(row[column] == change[column] for column in sideline.archive.KEYS[name])]
            left.remove(old)
        if kind == "delete":
            left.remove(change)
        else:
            left.append(change)
    return sorted(left, key=repr)


class TrustMachine(RuleBasedStateMachine):
    """One season, one archive, and everything that can happen between them."""

    is_extended = False

    @initialize(
        seed=st.integers(0, 50),
        root=st.sampled_from(("object", "array", "single")),
        link=st.booleans(),
        extent=st.sampled_from(("few", "few", "few", "default", "everything")),
        days=st.sampled_from((None, 7)),
    )
    def start(self, seed: int, root: str, link: bool, extent: str, days: int | None) -> None:
        self.seed = seed
        self.folder = Path(tempfile.mkdtemp(prefix="trust-"))
        has_all = extent == "everything"
        features = Features(events_root=root, possessions_link=link, play_by_play=has_all, ball_screens=has_all)
        self.service = Service(seed=seed, now=NOW, features=features, **SIZE).start()
        self.client = sideline.Client(**self.service.client_options(), max_retries=0, timeout=5)
        self.archive = sideline.Archive(self.folder / "season", self.client)
        self.memory = Memory()
        self.memory.note(self.service.season)
        self.tables = (
            [*PARENTS]
            if has_all
            else [*COMPARED_NAMES]
            if extent == "default"
            else [name for name in COMPARED_NAMES if COMMON_OPERATIONS.intersection(PARENTS[name])]
        )
        self.requested_tables = None if extent == "default" else self.tables
        self.window = None if days is None else timedelta(days=days)
        """All games lie within it, so that every change is due."""
        self.past: list[tuple[datetime, str, Rows]] = []
        """What a table was at a time."""
        self.version: int | None = None
        self.is_interrupted = False
        """Whether a kill may have left rows that no account has yet."""
        self.rows_by_table: dict[str, Rows] = {}
        """The rows of each table, from the changes since the empty archive."""
        self.is_past = False
        """Whether the correction window of every game has passed: then no further change is due."""
        self.elapsed_time = timedelta()
        self.second: sideline.Client | None = None
        self.views = Views(self.folder / "season", self.service, self.memory)
        self.has_views = not self.is_extended or seed % EXTENDED_HISTORIES_WITH_VIEWS == 0
        self.clock = self.service.time
        """The latest time of the service or of this machine."""
        self.odd_dates: list[Fault] = []
        self.false_responses: list[Fault] = []
        """Faults by which the service says something well-formed and false: nobody can name that."""

    def sync(self) -> None:
        """Runs one sync. Every difference from the truth is reported, unless the service lied."""
        count, requests = sum(fault.count for fault in self.false_responses), len(self.service.requests)
        try:
            report = self.run()
        except ENDINGS as error:
            note(f"ended by {error!r}")
            assert self.service.faults.rules(), "a sync without a fault ended"
            return
        self.check_views(report)
        is_true = count == sum(fault.count for fault in self.false_responses)
        if is_true:
            rows = find_unnamed(self.archive, report, self.service, self.memory, self.tables)
            assert not rows, f"nothing names these rows:\n{describe(rows)}"
            sessions = {session.id for _, session in self.service.season.sessions()}
            units = refused_units(self.service.requests.all()[requests:], sessions) - {hole["unit"] for hole in report.holes}
            assert not units, f"no hole names them: {units}"
        self.check_verdicts(is_true=is_true)

    def check_verdicts(self, *, is_true: bool) -> None:
        """Verdicts, exit statuses and the morning report are those of `coverage`, and of the truth unless the service lied."""
        if not self.has_views:
            return
        holes, rows = self.views.holes(), self.views.verdicts()
        self.views.check_verdicts(rows, holes)
        if is_true and not self.is_dated_falsely:
            self.views.check_available(rows, untrue(self.archive, self.service, self.tables), self.clock)
        self.views.check_report(rows, holes)

    def check_views(self, report: sideline.archive.SyncReport) -> None:
        """The report and the archive say the same, the past stays what it was, and the changes give the present."""
        holes = {hole["unit"]: hole["status"] for hole in self.archive.info().holes}
        # A team that neither the service nor the list of teams knows leaves nothing in the archive.
        assert {hole["unit"]: hole["status"] for hole in report.holes if hole["unit"] in holes} == holes
        assert report.complete or holes or report.holes
        table = self.tables[len(self.past) % len(self.tables)]
        self.past.append((datetime.now(UTC), table, rows_of(self.archive.to_arrow(table))))
        when, table, rows = self.past[len(self.past) // 2]
        assert rows_of(self.archive.as_of(when).to_arrow(table)) == rows, f"{table} as of {when}"
        self.is_interrupted = self.is_interrupted and not report.complete
        if self.is_interrupted:
            return
        changes = self.archive.changes(since=self.version)
        for name in self.tables:
            self.rows_by_table[name] = replay(self.rows_by_table.get(name, []), changes[name].table(), name)
            assert self.rows_by_table[name] == rows_of(self.archive.to_arrow(name)), f"the changes of {name} do not give its rows"
        self.version = changes.version

    @property
    def is_dated_falsely(self) -> bool:
        """Whether a date was far in the future: games are over by that."""
        return any(fault.count for fault in self.odd_dates)

    def run(self) -> sideline.archive.SyncReport:
        self.clock = max(self.clock, self.service.time, datetime.now(UTC))
        return self.archive.sync(**SEASON, tables=self.requested_tables, correction_window=self.window, on_error="keep", progress=False)

    @rule(name=st.sampled_from(MUTATIONS))
    def change(self, name: str) -> None:
        if self.is_past:
            return
        note(f"{name}: {self.service.change.all[name]()}")
        self.memory.note(self.service.season)

    @rule(name=st.sampled_from(MUTATIONS))
    def change_and_sync(self, name: str) -> None:
        self.change(name)
        self.sync()

    @rule(operation=OPERATION, kind=st.sampled_from(KINDS), skip=st.integers(0, 2), times=st.sampled_from((1, 3, None)), seed=st.integers(0, 9))
    def break_responses(self, operation: str | None, kind: str, skip: int, times: int | None, seed: int) -> None:
        if self.is_past and (kind in (*LIES, "body: empty array", "status: 404") or "date" in kind):
            # After the window a lie is final.
            return
        fault = self.service.faults.add(operation, skip=skip, times=times, **fault_options(kind, seed))
        is_list = kind == "body: empty array" and operation in (None, "locations", "team_events")
        if kind == "odd date":
            self.odd_dates.append(fault)
        if kind in LIES or is_list or (kind == "odd date" and self.window is not None):
            self.false_responses.append(fault)

    @rule(name=st.sampled_from(MUTATIONS), operation=OPERATION, kind=st.sampled_from(KINDS), skip=st.integers(0, 2), seed=st.integers(0, 9))
    def change_break_and_sync(self, name: str, operation: str | None, kind: str, skip: int, seed: int) -> None:
        self.change(name)
        self.break_responses(operation, kind, skip, 2, seed)
        self.sync()

    @rule(name=st.sampled_from(MUTATIONS), transactions=st.sampled_from((1, 2, 3, 4, 6, 8, 11, 15, 20, 25)))
    def change_sync_and_be_killed(self, name: str, transactions: int) -> None:
        self.change(name)
        try:
            with killed_after(transactions):
                self.run()
        except (Killed, *ENDINGS) as error:
            note(f"ended by {error!r}")
            self.is_interrupted = True

    @rule(name=st.sampled_from(MUTATIONS))
    def change_and_pass_the_window(self, name: str) -> None:
        """A change just before the end of the correction window is seen by the first sync after it."""
        if self.window is not None and not self.is_past:
            self.sync()
            self.change("correct_stat")
        self.change(name)
        if self.window is not None and not self.is_past:
            self.service.faults.clear()
            self.false_responses.clear()
            self.pass_time(timedelta(days=30))
            self.is_past = True
        self.sync()

    @rule(days=st.integers(1, 9))
    def pass_days(self, days: int) -> None:
        """Without a window, changes are due for ever. The range of the syncs must still hold what is added."""
        if self.window is None and self.elapsed_time < timedelta(days=20):
            self.elapsed_time += timedelta(days=days)
            self.pass_time(timedelta(days=days))

    def pass_time(self, by: timedelta) -> None:
        """Games that were due meanwhile are played."""
        self.service.advance(by)
        season = self.service.season
        for event in [event for event in season.games if not event.sessions and event.tipoff <= season.now]:
            self.service.change.start_game(event.id)
        self.memory.note(season)

    @rule(first=st.integers(1, 28), days=st.integers(1, 20), are_ids=st.booleans(), team=st.booleans())
    def sync_a_part(self, first: int, days: int, are_ids: bool, team: bool) -> None:
        """A sync of other dates, teams or games: what it reports is what the archive says of them."""
        season = self.service.season
        if are_ids:
            part: dict[str, Any] = {"game_ids": [event.id for event in season.games][: 1 + first % 2]}
        else:
            begin = datetime(2027, 2, first, tzinfo=UTC)
            part = {"start": begin, "end": begin + timedelta(days=days), "team_ids": [season.teams[0].id] if team else None}
        try:
            report = self.archive.sync(**part, tables=self.requested_tables, correction_window=self.window, on_error="keep", progress=False)
        except ENDINGS as error:
            note(f"ended by {error!r}")
            assert self.service.faults.rules(), "a sync without a fault ended"
            return
        archive_holes = {hole["unit"]: hole["status"] for hole in self.archive.info().holes}
        report_holes = {hole["unit"]: hole["status"] for hole in report.holes}
        assert {unit: status for unit, status in report_holes.items() if unit in archive_holes} == {
            unit: archive_holes[unit] for unit in report_holes if unit in archive_holes
        }
        assert report.complete == (not report.holes)

    @rule(name=st.sampled_from(MUTATIONS))
    def change_and_let_another_writer_sync(self, name: str) -> None:
        """Another client syncs the same folder; then this one, which finds nothing to do but the truth."""
        self.change(name)
        if self.second is None:
            self.second = sideline.Client(**self.service.client_options(), max_retries=0, timeout=5)
        own_archive, self.archive = self.archive, sideline.Archive(self.folder / "season", self.second)
        try:
            self.sync()
        finally:
            self.archive = own_archive
        self.sync()

    @rule()
    def lift_and_sync(self) -> None:
        self.service.faults.clear()
        self.sync()

    @rule(privilege=st.sampled_from(PRIVILEGES), is_granted=st.booleans())
    def privilege(self, privilege: str, is_granted: bool) -> None:
        privileges = self.service.credentials[self.service.username].privileges
        (privileges.add if is_granted else privileges.discard)(privilege)

    @rule(minutes=st.sampled_from((0, 1, 61)), hours=st.sampled_from((-26, -1, 0, 1, 26)), is_sent=st.sampled_from((True, True, True, False)))
    def move_clocks(self, minutes: int, hours: int, is_sent: bool) -> None:
        """Time passes, and the clocks of the service and of this machine differ otherwise than before."""
        self.service.advance(timedelta(minutes=minutes))
        self.service.clock_offset, self.service.send_date = hours * 3600.0, is_sent

    def teardown(self) -> None:
        if not hasattr(self, "service"):
            return
        try:
            self.end()
        finally:
            self.client.close()
            if self.second is not None:
                self.second.close()
            self.service.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def end(self) -> None:
        """The service is well again: two syncs, because an absence is believed the second time."""
        if self.has_views:
            self.service.faults.clear()
            self.service.faults.add("stats", skip=self.seed % 3, times=1, **fault_options("status: 500", 0))
            self.sync()
        self.service.faults.clear()
        self.service.clock_offset, self.service.send_date = 0.0, True
        if self.has_views:
            self.sync_by_command()
        self.service.credentials[self.service.username].privileges |= set(PRIVILEGES)
        reports = [self.run() for _ in range(2)]
        rows = untrue(self.archive, self.service, self.tables)
        assert not rows, f"the archive is not the truth:\n{describe(rows)}\nholes: {reports[-1].holes}"
        assert not [hole for hole in reports[-1].holes if hole["status"] != "unavailable"], reports[-1].holes
        if self.seed % 4 == 0:
            self.check_export()
        if self.has_views:
            self.check_views_of_truth()

    def sync_by_command(self) -> None:
        """The exit status of the command is that of what it lacks: stats are refused, which it does not try again."""
        self.clock = max(self.clock, self.service.time, datetime.now(UTC))
        options = ["--from", SEASON["start"], "--to", SEASON["end"], "--correction-window", "inf" if self.window is None else "7"]
        options += [] if self.requested_tables is None else ["--tables", ",".join(self.requested_tables)]
        self.service.credentials[self.service.username].privileges.discard("stats")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.service.environ.items():
                patch.setenv(name, value)
            self.views.check_sync(options)
        self.check_verdicts(is_true=False)

    def check_views_of_truth(self) -> None:
        """The archive is the truth, so every view says that of the season."""
        holes, rows = self.views.holes(), self.views.verdicts()
        assert not holes
        page = self.views.check_report(rows, holes)
        self.views.check_report_of_truth(page, rows, self.tables)
        if not self.is_dated_falsely:
            self.views.check_verdicts_of_truth(rows, self.clock)

    def check_export(self) -> None:
        """A delivery to DuckDB has the rows of the archive, which are the truth."""
        path = self.folder / "season.duckdb"
        delivery = self.archive.export(f"duckdb://{path}")
        with duckdb.connect(str(path), read_only=True) as database:
            for name in self.tables:
                rows = self.archive.to_arrow(name).num_rows
                counts = database.execute(f'select count(*) from "{name}"').fetchone()
                assert counts == (rows,), f"{name} has {counts} rows in the export, and {rows} in the archive"
                assert delivery.rows.get(name, 0) == rows, name


MACHINE = settings(
    max_examples=int(FAULT_HISTORIES or EXAMPLES or 6),
    derandomize=EXAMPLES is None,
    database=None,
    # A fault that is planted need not be explained.
    phases=[Phase.generate] if FAULT_HISTORIES else list(Phase),
    stateful_step_count=8,
    deadline=None,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(0 if EXAMPLES else 1800)
@pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")
@pytest.mark.parametrize("part", [0, *(pytest.param(number, marks=pytest.mark.extended) for number in range(1, 21))])
def test_nothing_is_lost_silently(part: int) -> None:
    """Part 0 has the histories of `make test`; the 20 others have 50 each: one test of a thousand reached the time limit."""
    machine = seed(part)(type(TrustMachine.__name__, (TrustMachine,), {"is_extended": True})) if part else TrustMachine
    run_state_machine_as_test(machine, settings=settings(MACHINE, max_examples=50 if part else MACHINE.max_examples))


@pytest.mark.source
def test_each_planted_fault_changes_one_place() -> None:
    """A fault whose line has changed is planted nowhere, and nobody notices what it no longer proves."""
    root = Path(__file__).parents[1]
    faults = tomllib.loads((root / "tests" / "trust_faults.toml").read_text(encoding="utf-8"))["fault"]
    counts = {fault["name"]: (root / "python" / "sideline" / fault["file"]).read_text(encoding="utf-8").count(fault["before"]) for fault in faults}
    assert len(counts) >= 29 and {name: count for name, count in counts.items() if count != 1} == {}
