"""Audits of an archive: rows that no event lists, withdrawn units, missing bodies."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from archives import Killed, Store, archive_of, killed_after, small_season
from needs import library
from service import Service

import sideline

write_deltalake = library("deltalake").write_deltalake

ORPHAN = "00000000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def two_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an archive of two games: it is copied and never written."""
    folder = tmp_path_factory.mktemp("archives") / "season"
    with small_season() as service, service.client() as client:
        archive = archive_of(client, folder)
        archive.sync(game_ids=[game["event_id"] for game in service.games[:2]]).raise_if_incomplete()
    assert archive.audit().num_rows == 0
    return folder


@pytest.fixture
def archive(tmp_path: Path, two_games: Path) -> sideline.Archive:
    return sideline.Archive(shutil.copytree(two_games, tmp_path / "season"))


def session_of(archive: sideline.Archive) -> str:
    session: str = archive.scan("sessions").collect().sort("started_at")["session_id"][0]
    return session


def violations(archive: sideline.Archive) -> set[tuple[str, str]]:
    return {(row["rule"], row["session_id"]) for row in archive.audit().to_dicts()}


def test_rows_of_a_session_that_no_event_lists_are_found(archive: sideline.Archive) -> None:
    shots = archive.delta("shots")
    rows = shots.to_pyarrow_table().slice(0, 3)
    rows = rows.set_column(rows.column_names.index("session_id"), "session_id", [[ORPHAN] * 3])
    write_deltalake(shots, rows, mode="append")
    assert violations(archive) == {("sessions_are_listed", ORPHAN)}


def test_rows_of_a_session_that_was_withdrawn_are_found(archive: sideline.Archive) -> None:
    session = session_of(archive)
    archive.delta("sessions").delete(f"session_id = '{session}'")
    archive.delta("location_windows").delete(f"session_id = '{session}'")
    archive.delta("coverage").update(updates={"status": "'withdrawn'"}, predicate=f"session_id = '{session}'")
    assert violations(archive) == {("withdrawn_sessions_have_no_rows", session)}


def test_a_session_whose_bodies_are_all_gone_is_found(archive: sideline.Archive) -> None:
    session = session_of(archive)
    for name in ("player_stats", "stat_events", "possessions", "possession_events", "shots"):
        archive.delta(name).delete(f"session_id = '{session}'")
    assert violations(archive) == {("sessions_have_rows", session)}


def test_tables_that_no_sync_requested_of_a_game_are_no_violation(tmp_path: Path) -> None:
    with Service(seed=3, now="2027-03-01T12:00:00+00:00", games=3, possessions=4) as service, sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        games = [game.id for game in service.season.games if game.sessions]
        for game, tables in zip(games, (None, ("shots",), ("player_stats", "possessions")), strict=True):
            archive.sync(game_ids=[game], tables=tables)
        assert archive.audit().to_dicts() == []
        runs = {run.rule: run for run in archive.audit().rules}
        assert runs["five_a_side"].rows == archive.scan("possessions").collect().height
        sessions = {row["session_id"] for row in archive.scan("shots").filter(game_id=games[0]).collect().to_dicts()}
        archive.delta("shots").delete(f"game_id = '{games[0]}'")
        assert {(row["rule"], row["session_id"]) for row in archive.audit().to_dicts()} == {("shots_match_events", key) for key in sessions}


def test_the_result_adds_up_what_was_checked(archive: sideline.Archive) -> None:
    runs = {run.rule: run for run in archive.audit().rules}
    assert runs["five_a_side"].rows == archive.scan("possessions").collect().height
    assert runs["sessions_are_listed"].is_run


def test_a_report_has_the_verdicts_of_the_status(archive: sideline.Archive) -> None:
    """Those of its own audit: a game with a violation of a session is degraded, and rows that no event lists judge no game."""
    archive.delta("stat_events").delete(f"session_id = '{session_of(archive)}'")
    archive.delta("shots").update(updates={"session_id": f"'{ORPHAN}'"}, predicate=f"session_id = '{session_of(archive)}'")
    worst: dict[str, str] = {}
    for row in archive.status().to_dicts():
        worst[row["game_id"]] = min(worst.get(row["game_id"], row["status"]), row["status"], key=sideline.archive.SEVERITY.index)
    assert Counter(worst.values()) == {"degraded": 1, "available": 1}
    assert "1 game of 2 needs attention." in archive.report().html


def test_a_report_audits_the_stored_tables_once(archive: sideline.Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdicts and its findings are of one audit, which alone reads the events of possessions."""
    names: list[str] = []
    open_table = Store.open_checked

    def open_and_note(store: Store, name: str) -> object:
        names.append(name)
        return open_table(store, name)

    monkeypatch.setattr(Store, "open_checked", open_and_note)
    archive.status()
    assert names.count("possession_events") == 1
    names.clear()
    archive.report()
    assert names.count("possession_events") == 1


@pytest.mark.parametrize("operation", ["audit", "status", "report"])
def test_a_sync_between_two_tables_of_an_audit_is_no_violation(operation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(seed=3, now="2027-03-01T12:00:00+00:00", games=3, possessions=4) as service, sideline.Client(**service.client_options()) as client:
        archive, writer = (sideline.Archive(tmp_path / "season", client) for _ in range(2))
        writer.sync(start="2027-01-01", end="2027-06-01", correction_window=None, progress=False)
        before = archive.audit().to_dicts()
        verdicts = archive.status().to_dicts()
        open_checked, counts = Store.open_checked, Counter[str]()

        def open_after_sync(store: Store, name: str) -> object:
            counts[name] += store is archive._store
            if name == "stat_events" and store is archive._store and counts[name] == 1:
                for _, session in service.season.sessions():
                    service.change.correct_stat(session.id)
                writer.sync(start="2027-01-01", end="2027-06-01", correction_window=None, progress=False)
            return open_checked(store, name)

        monkeypatch.setattr(Store, "open_checked", open_after_sync)
        if operation == "audit":
            assert archive.audit().to_dicts() == before
        elif operation == "status":
            assert [row["status"] for row in archive.status().to_dicts()] == [row["status"] for row in verdicts]
        else:
            assert "is_sum_of_events" not in archive.report().html
        assert counts["stat_events"]


def test_an_audit_names_what_a_killed_sync_left_of_two_times(tmp_path: Path) -> None:
    """Rules over the stored rows say what the audit has to find: an event that is being stored is not left out."""
    with Service(seed=3, now="2027-03-01T12:00:00+00:00", games=1, possessions=4) as service, sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        span = {"start": "2027-01-01", "end": "2027-06-01", "correction_window": None, "progress": False}
        archive.sync(**span)
        expected: set[tuple[str, str]] = set()
        for transaction in range(2, 8):
            for _, session in service.season.sessions():
                service.change.correct_stat(session.id)
            with killed_after(transaction), pytest.raises(Killed):
                archive.sync(**span)
            names = ("player_stats", "stat_events", "shots", "sessions")
            rows = {name: archive.scan(name).collect() for name in names}
            expected = {(row["rule"], row["message"]) for row in sideline.audit(**rows).to_dicts()}
            assert expected <= {(row["rule"], row["message"]) for row in archive.audit().to_dicts()}
            if expected:
                break
        assert expected
