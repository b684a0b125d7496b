"""Whether a game is in: a verdict for each table, and never "available" when the truth is otherwise.

The machine drives the second service as that of test_trust_machine.py does. STATUS_EXAMPLES sets the number of games that are played against it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import Killed, archive_with, killed_after
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from needs import ARCHIVE, require
from service import Service
from trust import untrue

import sideline
from sideline.archive._status import SEVERITY, _Game, _holds
from test_trust_machine import ENDINGS, MACHINE, SEASON, TrustMachine

require(*ARCHIVE, extra="archive")

EXAMPLES = os.environ.get("STATUS_EXAMPLES")
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
SIZE: dict[str, Any] = {"seed": 3, "now": NOW, "teams": 3, "players": 6, "games": 4, "sessions": (1, 1), "possessions": 3}
SIZE |= {"practices": 0, "upcoming": 1, "days": 20, "link_base": "https://service.invalid"}

TABLES = ("events", "games", "player_stats", "stat_events", "shots")

SEEN: Counter[str] = Counter()
"""The number of each verdict, and of "false degraded" ones: archive and truth were equal in the end."""


class StatusMachine(TrustMachine):
    """After every complete sync, the available data is the truth."""

    def sync(self) -> None:
        count = sum(fault.count for fault in self.false_responses)
        try:
            self.run()
        except ENDINGS:
            return
        if count == sum(fault.count for fault in self.false_responses):
            self.check()

    def check(self) -> None:
        rows = self.archive.status(correction_window=timedelta(0)).to_dicts()
        SEEN.update(row["status"] for row in rows)
        available = {(row["game_id"], row["table"]) for row in rows if row["status"] == "available"}
        false = [(table, kind, row) for table, kind, row in untrue(self.archive, self.service, self.tables) if (self.memory.event(row), table) in available]
        assert not false, f"available, and not the truth: {false[:3]}"
        assert all(row["reasons"] for row in rows if row["status"] != "available"), "a verdict without a reason"

    def end(self) -> None:
        super().end()
        self.check()
        rows = self.archive.status(correction_window=timedelta(0)).to_dicts()
        SEEN["at the end"] += len(rows)
        SEEN["false degraded"] += sum(row["status"] == "degraded" for row in rows)


@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")
@pytest.mark.extended  # test_trust_machine.py reads the verdicts after each sync too
def test_available_data_is_the_truth() -> None:
    SEEN.clear()
    run_state_machine_as_test(StatusMachine, settings=settings(MACHINE, max_examples=int(EXAMPLES or 6), derandomize=EXAMPLES is None))
    assert SEEN["available"] > 50, SEEN
    assert SEEN["false degraded"] <= 0.01 * SEEN["at the end"], SEEN


@pytest.fixture
def second() -> Iterator[Service]:
    with Service(**SIZE) as service:
        yield service


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an archive of the whole season: it is copied and never written."""
    folder = tmp_path_factory.mktemp("archives") / "season"
    with Service(**SIZE) as second:
        sync_archive(second, folder)
    return folder


@pytest.fixture
def archive(tmp_path: Path, season: Path) -> sideline.Archive:
    """An archive of the whole season, without a client."""
    return sideline.Archive(shutil.copytree(season, tmp_path / "season"))


def sync_archive(second: Service, root: Path, **options: Any) -> sideline.Archive:
    with sideline.Client(**second.client_options(), max_retries=0) as client:
        archive = sideline.Archive(root, client)
        archive.sync(**SEASON, on_error="keep", progress=False, **{"tables": TABLES, **options})
    return archive


def verdicts(archive: sideline.Archive, table: str = "stat_events", **options: Any) -> dict[str, tuple[str, list[str]]]:
    return {row["game_id"]: (row["status"], row["reasons"]) for row in archive.status(**options).to_dicts() if row["table"] == table}


def test_status_of_a_complete_season(second: Service, archive: sideline.Archive) -> None:
    table = archive.status(correction_window=timedelta(0))
    assert table.name == "status" and table.column_names[:5] == ["game_id", "table", "status", "checked", "reasons"]
    rows = table.to_dicts()
    games = {event.id for event in second.season.events if event.is_game}
    assert {row["game_id"] for row in rows} == games
    assert {row["status"] for row in rows} == {"available", "pending"}
    [(upcoming, (status, reasons))] = [verdict for verdict in verdicts(archive, correction_window=timedelta(0)).items() if verdict[1][0] != "available"]
    assert (status, reasons[0][:9]) == ("pending", "starts at")
    assert all(row["last_changed"] and row["last_listed"] for row in rows if row["game_id"] != upcoming)
    assert {row["checked"] for row in rows if row["game_id"] == upcoming} == {False}, "it is not over, so nothing compared it"
    assert {row["checked"] for row in rows if row["game_id"] != upcoming} == {True}


def test_a_table_is_not_checked_without_the_rows_that_would_show_a_gap(tmp_path: Path, second: Service) -> None:
    with sideline.Client(**second.client_options(), max_retries=0) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(**SEASON, tables="shots", on_error="keep", progress=False)
    rows = [row for row in archive.status(correction_window=timedelta(0)).to_dicts() if row["status"] == "available"]
    assert {(row["table"], row["checked"]) for row in rows} == {("events", True), ("sessions", True), ("location_windows", True), ("shots", False)}
    assert {tuple(row["reasons"]) for row in rows if row["table"] == "shots"} == {("not checkable",)}


def test_a_recent_game_is_provisional_until_a_sync_after_the_correction_window(tmp_path: Path, second: Service, archive: sideline.Archive) -> None:
    before = verdicts(archive)
    recent = {game for game, (status, _) in before.items() if status == "provisional"}
    assert recent and "available" in {status for status, _ in before.values()}
    assert all("it may be corrected until 2027-" in before[game][1][0] for game in recent)
    second.advance(timedelta(days=9))
    later = sideline.Archive(tmp_path / "season", clock=lambda: second.time)
    assert {verdicts(later)[game][0] for game in recent} == {"provisional"}, "nobody looked since"
    sync_archive(second, tmp_path / "season")
    assert {verdicts(later)[game][0] for game in recent} == {"available"}
    second.requests.clear()
    sync_archive(second, tmp_path / "season")
    assert "stats" not in second.requests.counts(), "once after the window is enough"


@pytest.mark.parametrize(
    ("fault", "expected", "reason"),
    [
        ({"status": 403, "body": {"status": 403, "message": "No access to STATS data"}}, "forbidden", "PermissionDenied"),
        ({"status": 404, "body": {"status": 404, "message": "Invalid id"}}, "missing", "NotFound"),
        ({"status": 500, "body": {"status": 500, "message": "broken"}}, "missing", "ServerError"),
        ({"change": lambda body: {"teams": []}}, "degraded", "0 rows, usually"),
    ],
    ids=["403", "404", "500", "empty"],
)
def test_a_unit_that_failed(tmp_path: Path, second: Service, fault: dict[str, Any], expected: str, reason: str) -> None:
    second.faults.add("stats_details", times=1, **fault)
    archive = sync_archive(second, tmp_path / "season")
    verdict_by_game = verdicts(archive, correction_window=timedelta(0))
    [(game, (status, reasons))] = [verdict for verdict in verdict_by_game.items() if verdict[1][0] not in ("available", "pending")]
    assert status == expected
    assert reason in reasons[0] and reasons[0].startswith("stats_details/")
    others = verdicts(archive, "shots", correction_window=timedelta(0))
    assert others[game][0] == ("degraded" if expected == "degraded" else "available"), "of two tables that differ nobody knows which is right"


@pytest.mark.usefixtures("archive")
def test_rows_that_are_older_than_a_failure_are_degraded(tmp_path: Path, second: Service) -> None:
    second.faults.add("shots", status=500, body={"status": 500, "message": "broken"})
    archive = sync_archive(second, tmp_path / "season", correction_window=None)
    status, reasons = next(iter(verdict for verdict in verdicts(archive, "shots", correction_window=timedelta(0)).values() if verdict[0] != "pending"))
    assert status == "degraded" and "the rows are older than the last request" in reasons[0]


@pytest.mark.usefixtures("archive")
def test_a_list_that_could_not_be_read_casts_doubt_on_its_games(tmp_path: Path, second: Service) -> None:
    second.faults.add("schedule", status=500, body={"status": 500, "message": "broken"})
    archive = sync_archive(second, tmp_path / "season")
    verdict_by_game = verdicts(archive, correction_window=timedelta(0))
    assert "available" not in {status for status, _ in verdict_by_game.values()}
    assert any("schedule/all: " in reason for _, reasons in verdict_by_game.values() for reason in reasons)


def test_a_contradiction_is_degraded(tmp_path: Path, second: Service) -> None:
    def raise_values(body: Any) -> Any:
        for team in body["teams"]:
            for line in team["player_stats"]:
                line["stats"] = {code: value + 40 for code, value in line["stats"].items()}
        return body

    second.faults.add("stats", change=raise_values, times=1)
    archive = sync_archive(second, tmp_path / "season")
    bad = [verdict for verdict in verdicts(archive, "box_score", correction_window=timedelta(0)).values() if verdict[0] == "degraded"]
    assert len(bad) == 1 and bad[0][1][0].startswith("violates ")


def test_a_box_score_that_a_sum_counts_twice_is_degraded(tmp_path: Path, second: Service) -> None:
    second.faults.add("stats", change=lambda body: {**body, "teams": body["teams"] * 2})
    archive = sync_archive(second, tmp_path / "season", tables=["player_stats"])
    verdict_by_game = verdicts(archive, "player_stats", correction_window=timedelta(0))
    assert {status for status, _ in verdict_by_game.values()} == {"degraded"}
    assert {reason for _, reasons in verdict_by_game.values() for reason in reasons} == {"violates rows_occur_once"}


def test_a_game_that_the_schedule_never_had_is_late_as_no_sync_lacks_it(tmp_path: Path, second: Service) -> None:
    game = next(event for event in second.season.games if event.sessions)
    game.is_scheduled = False
    archive = sync_archive(second, tmp_path / "season")
    assert archive.info().holes == []
    assert verdicts(archive, "games")[game.id] == ("late", ["no list has it"])


@pytest.mark.usefixtures("archive")
def test_a_game_that_is_gone_is_withdrawn(tmp_path: Path, second: Service) -> None:
    change = second.change.all["withdraw_game"]()
    archive = sync_archive(second, tmp_path / "season")
    archive = sync_archive(second, tmp_path / "season")
    withdrawn = [game for game, (status, _) in verdicts(archive, correction_window=timedelta(0)).items() if status == "withdrawn"]
    assert len(withdrawn) == 1, change


def test_units_of_a_killed_sync_are_degraded(tmp_path: Path, second: Service, archive: sideline.Archive) -> None:
    for transactions in range(1, 20):
        assert second.change.all["correct_stat"]()
        try:
            with killed_after(transactions):
                sync_archive(second, tmp_path / "season", correction_window=None)
        except Killed:
            reasons = [reason for row in archive.status(correction_window=timedelta(0)).to_dicts() for reason in row["reasons"]]
            if any("or was interrupted while it did" in reason for reason in reasons):
                break
    else:
        pytest.fail("no kill left a unit half stored")
    sync_archive(second, tmp_path / "season")
    assert {status for status, _ in verdicts(archive, correction_window=timedelta(0)).values()} == {"available", "pending"}


def test_every_table_of_a_game_has_a_verdict_after_a_killed_sync(tmp_path: Path, second: Service, archive: sideline.Archive) -> None:
    """A sync that ends between two chunks leaves games of which only some tables are stored."""
    tables_of_games = {(row["game_id"], row["table"]) for row in archive.status().to_dicts()}
    archives_with_late_tables = 0
    for transactions in range(1, 200, 9):
        with sideline.Client(**second.client_options(), max_retries=0) as client:
            partial_archive = archive_with(tmp_path / f"killed-{transactions}", client, max_step_units=1, min_chunk_units=1, max_chunk_units=1)
            try:
                with killed_after(transactions):
                    partial_archive.sync(**SEASON, tables=TABLES, progress=False)
                break
            except Killed:
                rows = partial_archive.status(correction_window=timedelta(0)).to_dicts()
        games, tables = {row["game_id"] for row in rows}, {row["table"] for row in rows}
        expected = {(game, table) for game, table in tables_of_games if game in games and table in tables}
        assert expected <= {(row["game_id"], row["table"]) for row in rows}, transactions
        listed_games = set(partial_archive.to_arrow("sessions")["game_id"].to_pylist())
        assert not any(row["game_id"] in listed_games and "its event lists no session" in row["reasons"] for row in rows)
        archives_with_late_tables += any(row["status"] == "late" for row in rows)
    assert archives_with_late_tables > 1


def test_teams_and_time_choose_the_games(tmp_path: Path, second: Service, archive: sideline.Archive) -> None:
    all_verdicts = verdicts(archive)
    team = second.season.teams[0].id
    team_games = {event.id for event in second.season.events if event.is_game and team in event.team_ids}
    assert set(verdicts(archive, team_ids=team)) == set(verdicts(archive, team_ids=[str(team)])) == team_games != set(all_verdicts)
    for teams in (987_654, [team, 987_654]):
        with pytest.raises(ValueError, match="the archive has no game and no list of team 987654"):
            archive.status(team_ids=teams)
    assert archive.status(team_ids=team, since=NOW + timedelta(days=900)).num_rows == 0
    late = verdicts(archive, since=NOW - timedelta(days=3))
    assert set(late) < set(all_verdicts)
    with pytest.raises(ValueError, match="team_ids are numbers"):
        archive.status(team_ids=["bears"])
    with pytest.raises(FileNotFoundError):
        sideline.Archive(tmp_path / "none").status()


@pytest.mark.usefixtures("archive")
def test_the_command_names_each_problem(tmp_path: Path, second: Service) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", "-m", "sideline", "status", str(tmp_path / "season"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    done = run()
    assert done.returncode == 0, done.stderr
    assert "no problems" in done.stdout.splitlines()[0] and "available" in done.stdout
    second.faults.add("shots", status=403, body={"status": 403, "message": "No access to SHOTS data"})
    second.faults.add("possessions", status=403, body={"status": 403, "message": "No access to POSSESSIONS data"})
    sync_archive(second, tmp_path / "season", correction_window=None, tables=(*TABLES, "possessions", "possession_events", "possession_players"))
    done = run()
    assert done.returncode == 3
    assert any(" shots forbidden: " in line for line in done.stdout.splitlines())
    games = [line for line in done.stdout.splitlines() if " possessions, possession_events, possession_players forbidden: " in line]
    problems = [line for line in done.stdout.splitlines() if "POSSESSIONS" in line]
    assert games == problems and len({line.split()[0] for line in games}) == len(games) > 1, "tables of one reason share a line"
    written = run("--json", "--teams", str(second.season.teams[0].id), "--since", "2027-01-01").stdout
    assert written.count("\n") == 1
    rows = json.loads(written)
    assert {"game_id", "table", "status", "reasons", "last_changed"} <= set(rows[0])
    assert {row["status"] for row in rows} <= set(SEVERITY)
    assert run("--since", "soon").returncode == 2
    done = run("--teams", "987654", "--json")
    assert (done.returncode, done.stdout) == (2, "") and "no game and no list of team 987654" in done.stderr


def test_a_list_with_a_hole_concerns_the_games_that_may_be_in_its_range() -> None:
    hour, least = timedelta(hours=1), timedelta(hours=3)
    row = {"start": NOW, "end": NOW + 24 * hour}
    for starts_at, is_held in (
        (NOW - least - hour, False),
        (NOW - least, True),
        (NOW + 24 * hour + least, True),
        (NOW + 24 * hour + least + hour, False),
        (None, True),
    ):
        assert _holds(row, _Game("g", starts_at=starts_at)) == is_held, starts_at
    distant = _Game("g", starts_at=NOW + 1000 * hour)
    assert all(_holds({**row, name: None}, distant) for name in row)


HALVES: dict[str, list[tuple[bool, tuple[str, ...] | None]]] = {
    "all, then games of the time before": [(True, None), (False, ("games",))],
    "all, then shots of the time before": [(True, None), (False, ("shots",))],
    "all, then shots of the time after": [(False, None), (True, ("shots",))],
    "shots and games, then all of the time after": [(False, ("shots", "games")), (True, None)],
}


@pytest.mark.parametrize("name", HALVES)
def test_what_was_never_requested_is_not_missing(tmp_path: Path, name: str) -> None:
    with Service(**SIZE) as service, sideline.Client(**service.client_options()) as client:
        starts = sorted(event.start for event in service.season.games if event.start < service.season.now)
        middle, begin = starts[len(starts) // 2], starts[0] - 86_400_000
        archive = sideline.Archive(tmp_path / "season", client)
        for is_later, tables in HALVES[name]:
            options: dict[str, Any] = {} if tables is None else {"tables": tables}
            start, end = (middle, service.season.now) if is_later else (begin, middle)
            assert archive.sync(start=start, end=end, progress=False, **options).complete
            service.season.now += 60_000
    rows = archive.status(correction_window=timedelta(0)).to_dicts()
    problems = [row for row in rows if row["status"] not in ("available", "provisional")]
    assert not problems
    assert {row["table"] for row in rows} > {"games", "shots"}


@pytest.mark.parametrize("is_late", [False, True], ids=["before the range", "after the range"])
def test_a_game_whose_event_is_of_the_range_has_its_row_whenever_it_was_to_begin(tmp_path: Path, is_late: bool) -> None:
    with Service(**SIZE) as service, sideline.Client(**service.client_options()) as client:
        game = next(event for event in service.season.games if event.sessions)
        game.tipoff = game.start + (600_000 if is_late else -600_000)
        begin, end = (game.start - 86_400_000, game.start + 1) if is_late else (game.start - 1, service.season.now)
        archive = sideline.Archive(tmp_path / "season", client)
        options = {"start": begin, "end": end, "tables": ["games", "shots"], "progress": False}
        assert archive.sync(**options).complete
        assert game.id in archive.scan("games").collect()["game_id"]
        verdicts = [row["status"] for row in archive.status(correction_window=timedelta(0)).to_dicts() if row["game_id"] == game.id]
        assert {*verdicts} <= {"available", "provisional"}
        others = {event.id for event in service.season.games if not begin <= event.tipoff <= end} - {game.id}
        assert not others & {*archive.scan("games").collect()["game_id"]}


def test_a_game_cut_by_the_range_gets_its_row_after_a_failed_request_for_it(tmp_path: Path) -> None:
    with Service(**SIZE) as service, sideline.Client(**service.client_options(), max_retries=0) as client:
        game = next(event for event in service.season.games if event.sessions)
        game.tipoff = game.start - 600_000
        archive = sideline.Archive(tmp_path / "season", client)
        options = {"start": game.start - 1, "end": game.start + 86_400_000, "tables": ["games", "shots"], "progress": False}
        # The request for the range fails, then those around both of its ends, then that for the range again.
        for skip, times, unit in ((0, 1, "schedule/all"), (1, 2, f"event/{game.id}"), (0, 1, "schedule/all")):
            service.faults.add("schedule", skip=skip, times=times, status=503)
            with pytest.raises(sideline.errors.IncompleteSync, match=unit):
                archive.sync(**options)
            assert game.id not in archive.scan("games").collect()["game_id"]
            service.faults.clear()
            service.season.now += 30 * 86_400_000
        assert archive.sync(**options).complete
        assert game.id in archive.scan("games").collect()["game_id"]
        assert not archive.info().holes
        service.requests.clear()
        assert archive.sync(**options).complete
        assert len(service.requests.all("schedule")) == 1


def test_a_played_game_of_which_only_the_schedule_is_stored_is_available(tmp_path: Path, second: Service) -> None:
    archive = sideline.Archive(tmp_path / "season", sideline.Client(**second.client_options()))
    archive.sync(start=NOW - timedelta(days=90), end=NOW + timedelta(days=20), tables=["games"], progress=False)
    upcoming = {event.id for event in second.season.games if event.start > second.season.now}
    pending = {row["game_id"] for row in archive.status(correction_window=timedelta(0)).to_dicts() if row["status"] == "pending"}
    assert pending == upcoming


@pytest.mark.parametrize("skip", [0, 1], ids=["the first session", "the second session"])
@pytest.mark.parametrize(("status", "expected"), [(403, "forbidden"), (500, "missing")])
def test_a_table_has_the_worst_verdict_of_its_sessions(tmp_path: Path, skip: int, status: int, expected: str) -> None:
    with Service(**SIZE | {"sessions": (2, 2), "games": 1}) as service:
        service.faults.add("stats", skip=skip, times=1, status=status, body={"status": status, "message": "broken"})
        archive = sync_archive(service, tmp_path / "season")
        [game] = [event.id for event in service.season.games if event.sessions]
        assert verdicts(archive, "player_stats")[game][0] == expected
        assert verdicts(archive, "stat_events")[game][0] == "available"


def test_a_listed_session_that_a_sync_of_other_tables_left_out_is_not_available(tmp_path: Path) -> None:
    """New or returned: no unit of it was requested."""
    with Service(**SIZE | {"sessions": (2, 2), "games": 1}) as service:
        [game] = [event for event in service.season.games if event.sessions]
        session = game.sessions[0]

        def change(is_listed: bool) -> None:
            with service.season.lock:
                game.sessions = [session, *game.sessions] if is_listed else game.sessions[1:]
                service.season.revision += 1

        change(is_listed=False)
        archive = sync_archive(service, tmp_path / "season", tables=("player_stats",))
        assert verdicts(archive, "player_stats")[game.id][0] == "available"
        change(is_listed=True)
        late = ("late", [f"stats/{session.id}: nothing of it is stored: sync again"])
        for tables in (("shots", "games"), ("events",)):
            sync_archive(service, tmp_path / "season", tables=tables)
            assert verdicts(archive, "player_stats")[game.id] == late
        assert verdicts(archive, "shots")[game.id][0] == "available"
        sync_archive(service, tmp_path / "season")
        assert verdicts(archive, "player_stats")[game.id][0] == "available"
        change(is_listed=False)
        sync_archive(service, tmp_path / "season")
        assert verdicts(archive, "player_stats")[game.id][0] == "available"
        change(is_listed=True)
        sync_archive(service, tmp_path / "season", tables=("shots",))
        assert verdicts(archive, "player_stats")[game.id] == late


def test_positions_of_a_session_with_other_times_are_not_available(tmp_path: Path) -> None:
    with Service(**SIZE | {"sessions": (2, 2), "games": 1}) as service:
        [game] = [event for event in service.season.games if event.sessions]
        archive = sync_archive(service, tmp_path / "season", tables=("locations",))
        assert verdicts(archive, "locations")[game.id][0] == "available"
        with service.season.lock:
            game.sessions[0].end += 60_000
            service.season.revision += 1
        sync_archive(service, tmp_path / "season", tables=("events",))
        reason = f"locations/{game.sessions[0].id}: its session has other times now"
        assert verdicts(archive, "locations")[game.id] == ("provisional", [reason])


@pytest.mark.parametrize("reason", ["never requested", "not offered"])
def test_defenders_without_shots_have_no_verdict(tmp_path: Path, reason: str) -> None:
    with Service(**SIZE | {"games": 1}) as service:
        tables = ("locations",) if reason == "never requested" else ("tracking_defenders",)
        service.faults.add("shots", status=404)
        service.faults.add("game", change=_without_links_to_shots)
        service.faults.add("team_events", change=_without_links_to_shots)
        archive = sync_archive(service, tmp_path / "season", tables=tables)
        [game] = [event for event in service.season.games if event.sessions]
        assert verdicts(archive, "tracking_loads")[game.id][0] == "available"
        assert verdicts(archive, "shots") == verdicts(archive, "tracking_defenders") == {}
        service.faults.clear()
        archive = sync_archive(service, tmp_path / "season", tables=("shots", "locations"))
        assert verdicts(archive, "tracking_defenders")[game.id][0] == "available"


def _without_links_to_shots(body: Any) -> Any:
    for event in body.get("events", [body]):
        for session in event["results"]:
            session.pop("_shots")
    return body
