"""Corrections of stored values: reported once, and the past stays readable."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from archives import NOW, OWN_TIMES, WINTER, archive_of, contents, different_tables, ledger, sorted_rows
from needs import library
from service import Service

import sideline
from sideline.archive._corrections import corrections

pd = library("pandas")

CORRECTED = ("events", "games", "player_stats", "box_score", "stat_events", "play_by_play")
"""Tables that a correction changes, and tables that it does not."""

STATS = ["AST", "PTS", "REB", "STL", "FL", "DIST", "FG3", "TO"]
Line = tuple[str, int, str]


@pytest.fixture(scope="module")
def league_client(league: sideline.Simulator) -> Iterator[sideline.Client]:
    with league.client() as client:
        yield client


def lines(client: sideline.Client, sessions: list[str]) -> dict[Line, tuple[float, int]]:
    """Each player's value of each stat, with its version, read from the raw bodies."""
    return {
        (session, line["id"], stat): (float(value), line["version"])
        for session in sessions
        for team in client.stats(session).to_dict()["teams"]
        for line in team["player_stats"]
        if line["id"] != 0
        for stat, value in line["stats"].items()
    }


@pytest.mark.timeout(600)
def test_200_corrections_come_back_as_those_200_rows_and_the_past_as_it_was(tmp_path: Path, league: sideline.Simulator, league_client: sideline.Client) -> None:
    archive = archive_of(league_client, tmp_path)
    archive.sync(**WINTER, tables=CORRECTED).raise_if_incomplete()
    assert archive.corrections().num_rows == 0
    original = {name: sorted_rows(archive.to_arrow(name)) for name in CORRECTED}
    final_games = sorted(row["game_id"] for row in ledger(archive) if row["operation"] == "game" and row["final"])
    sessions = [row["session_id"] for row in archive.scan("sessions").collect().to_dicts() if row["game_id"] in final_games]
    before = lines(league_client, sessions)
    start = datetime.now(UTC)

    dice = random.Random(3)
    of_game = {row["session_id"]: row["game_id"] for row in archive.scan("sessions").collect().to_dicts()}
    possible = sorted({(of_game[session], player, stat) for session, player, _ in before for stat in STATS})
    sample = dice.sample(possible, 200)
    for game, player, stat in sample[:100]:
        league.correct(game, player, stat, 1)
    archive.sync(**WINTER, tables=CORRECTED, correction_window=None).raise_if_incomplete()
    middle = datetime.now(UTC)
    half = {name: sorted_rows(archive.to_arrow(name)) for name in CORRECTED}
    for game, player, stat in sample[100:]:
        league.correct(game, player, stat, 2)
    report = archive.sync(**WINTER, tables=CORRECTED, correction_window=None)
    after = lines(league_client, sessions)

    changes = {key: (before.get(key), after[key]) for key in after if key not in before or before[key][0] != after[key][0]}
    assert len(changes) == 200
    corrections_table = archive.corrections()
    assert corrections_table.num_rows == 200
    for row in corrections_table.to_dicts():
        old, now = changes.pop((row["session_id"], row["player_id"], json.loads(row["key"])["stat"]))
        assert (row["table"], row["field"]) == ("player_stats", "value")
        assert row["game_id"] == of_game[row["session_id"]]
        assert row["old"] == (None if old is None else json.dumps(old[0]))
        assert row["new"] == json.dumps(now[0])
        assert old is None or old[1] == row["old_version"] or row["seen_at"] > middle
        assert row["new_version"] is not None
        assert start - timedelta(milliseconds=1) <= row["seen_at"]
    assert changes == {}
    assert report.corrections.num_rows == archive.corrections(since=middle).num_rows == 100
    assert archive.as_of(middle).scan("corrections").collect().height == 100

    for when, snapshot in ((start, original), (middle, half)):
        past_rows = {name: sorted_rows(archive.as_of(when).to_arrow(name)) for name in CORRECTED}
        assert different_tables(snapshot, past_rows) == []
    now = datetime.now(UTC)
    assert different_tables(half, {name: sorted_rows(archive.to_arrow(name)) for name in CORRECTED}) != []
    current = contents(archive, CORRECTED)
    archive.compact()
    for name in CORRECTED:
        without = OWN_TIMES if name == "players" else ()
        assert sorted_rows(archive.as_of(now).to_arrow(name), without) == current[name]
        assert sorted_rows(archive.as_of(start).to_arrow(name)) == original[name]
        assert archive.as_of(start - timedelta(days=1)).scan(name).collect().is_empty()


def test_a_value_that_goes_and_comes_back_is_two_corrections(tmp_path: Path, league: sideline.Simulator, league_client: sideline.Client) -> None:
    archive = archive_of(league_client, tmp_path)
    game = league.games[0]["event_id"]
    archive.sync(game_ids=[game], tables=CORRECTED)
    rebounds = archive.scan("player_stats").filter(game_id=game, stat="REB", is_team_total=False).collect()
    by_player = rebounds.group_by("player_id", maintain_order=True).len()
    # In each session, so that a correction changes an existing value.
    player = by_player.filter(by_player["len"] == rebounds["session_id"].n_unique())["player_id"][0]
    times = []
    for delta in (1, -1):
        times.append(datetime.now(UTC))
        league.correct(game, player, "REB", delta)
        archive.sync(game_ids=[game], tables=CORRECTED, correction_window=None)
    corrected_rows = archive.corrections().to_dicts()
    assert [(row["old"], row["new"]) for row in corrected_rows] == [
        (corrected_rows[0]["old"], corrected_rows[0]["new"]),
        (corrected_rows[0]["new"], corrected_rows[0]["old"]),
    ]
    seen = [archive.as_of(when).scan("player_stats").filter(player_id=player, stat="REB").collect()["value"].sum() for when in times]
    assert seen[1] == seen[0] + 1
    assert archive.scan("player_stats").filter(player_id=player, stat="REB").collect()["value"].sum() == seen[0]


def row(**values: object) -> dict[str, object]:
    return {"session_id": "s", "game_id": None, "team_id": 1, "player_id": 5, "version": 3, **values}


def test_a_teams_total_is_reported_where_its_players_do_not_explain_it() -> None:
    def line(player: int, value: float, stat: str = "REB") -> dict[str, object]:
        return row(player_id=player, is_team_total=player == 0, stat=stat, value=value)

    rows = corrections("player_stats", [line(0, 9.0), line(5, 4.0)], [line(0, 10.0), line(5, 5.0)])
    assert [(row["player_id"], row["old"], row["new"]) for row in rows] == [(5, "4.0", "5.0")]
    rows = corrections("player_stats", [line(0, 9.0), line(5, 4.0)], [line(0, 10.0), line(5, 4.0)])
    assert [(row["player_id"], row["old"], row["new"]) for row in rows] == [(0, "9.0", "10.0")]
    score = corrections("player_stats", [line(0, 9.0, "TEAM_SCORE")], [line(0, 10.0, "TEAM_SCORE")])
    assert score == []


def test_a_place_that_moved_is_a_correction_and_a_version_alone_is_none() -> None:
    def shot(at: int, x: float, version: int) -> dict[str, object]:
        return row(occurred_at=at, player_x=x, version=version, clip_link=f"https://{version}")

    old = [shot(1, 10.0, 3), shot(1, 20.0, 3), shot(2, 30.0, 3)]
    assert corrections("shots", old, [shot(1, 10.0, 4), shot(1, 20.0, 4), shot(2, 30.0, 4)]) == []
    [move] = corrections("shots", old, [shot(1, 20.0, 4), shot(1, 11.0, 4), shot(2, 30.0, 4)])
    assert (move["field"], move["old"], move["new"], move["old_version"], move["new_version"]) == ("player_x", "10.0", "11.0", 3, 4)
    [removal] = corrections("shots", old, old[:2])
    assert (removal["field"], removal["new"], json.loads(removal["key"])) == ("row", None, {"occurred_at": 2})


def test_a_correction_shows_texts_as_they_are_written() -> None:
    [corrected] = corrections("shots", [row(occurred_at=1, shot_type="Šok")], [row(occurred_at=1, shot_type="Žiedas")])
    assert (corrected["old"], corrected["new"]) == ('"Šok"', '"Žiedas"')


def test_a_time_of_any_zone_is_an_instant_and_one_out_of_reach_is_refused(tmp_path: Path) -> None:
    with Service(now=NOW, seed=3, games=2) as league, sideline.Client(**league.client_options()) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(start="2027-01-15", end="2027-04-01", tables=["shots"], progress=False)
        assert league.change.correct_stat()
        archive.sync(start="2027-01-15", end="2027-04-01", tables=["shots"], correction_window=None, progress=False)
    last = max(archive.corrections()["seen_at"])
    for zone in (ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), UTC):
        for at, count in ((last, archive.corrections(since=last).num_rows), (last + timedelta(seconds=1), 0)):
            local = at.astimezone(zone)
            assert archive.corrections(since=local).num_rows == archive.corrections(since=pd.Timestamp(local)).num_rows == count
            archive.report(since=local)
    for out_of_reach in (datetime.max.replace(tzinfo=ZoneInfo("America/New_York")), 10**15):
        for call in (archive.corrections, archive.as_of):
            with pytest.raises(ValueError, match="; write a time from 1990 to 2100"):
                call(out_of_reach)
