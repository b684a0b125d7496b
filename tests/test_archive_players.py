"""Players' teams over time, from the stored rosters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from needs import ARCHIVE, library, require
from service import Service

import sideline

require(*ARCHIVE, extra="archive")
pl = library("polars")

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


def test_a_player_who_leaves_and_comes_back_has_three_stints(tmp_path: Path) -> None:
    with Service(seed=5, now=NOW, teams=3, players=6, games=1, sessions=(1, 1), possessions=2, days=20) as service:
        client = sideline.Client(**service.client_options())
        archive = sideline.Archive(tmp_path / "season", client)

        def sync_later() -> datetime:
            archive.sync(start="2027-02-01", end="2027-03-02", tables=["players"], on_error="keep", progress=False)
            return service.time

        home, away, _ = service.season.teams
        player = service.season.roster(home.id)[0].id
        start = sync_later()
        service.advance(timedelta(days=1))
        service.change.all["trade_player"](player, away.id)
        left = sync_later()
        service.advance(timedelta(days=1))
        service.change.all["trade_player"](player, home.id)
        back = sync_later()
        table = archive.players()
        assert table.name == "players" and table.column_names[-3:] == ["team_name", "listed_from", "listed_until"]
        player_rows = [row for row in table.to_dicts() if row["player_id"] == player]
        assert [(row["team_id"], row["team_name"], row["listed_from"], row["listed_until"]) for row in player_rows] == [
            (home.id, home.name, start, left),
            (away.id, away.name, left, back),
            (home.id, home.name, back, None),
        ]
        stays = [row for row in table.to_dicts() if row["player_id"] != player]
        assert {(row["listed_from"], row["listed_until"]) for row in stays} == {(start, None)}
        for at, team in ((start, home), (left - timedelta(seconds=1), home), (left, away), (back, home)):
            now = pl.DataFrame(archive.players(as_of=at))
            assert now.filter(player_id=player)["team_id"].to_list() == [team.id]
            assert now["player_id"].n_unique() == now.height == len(stays) + 1
        assert archive.players(as_of=start - timedelta(seconds=1)).num_rows == 0
        client.close()


def test_a_player_whom_a_roster_repeats_has_one_row(tmp_path: Path) -> None:
    with Service(seed=5, now=NOW, teams=2, players=6, games=1, sessions=(1, 1), possessions=8, days=20) as service:
        players = [player.id for player in service.season.players]

        def repeat(body: Any) -> Any:
            # The second team has another entry of its first player, which no row may hide.
            first = body["players"][0]
            more = [] if first["id"] == players[0] else [{**first, "jersey_number": 99}]
            return {**body, "players": [*body["players"] * 2, *more]}

        service.faults.add("roster", change=repeat)
        with sideline.Client(**service.client_options()) as client:
            archive = sideline.Archive(tmp_path / "season", client)
            for _ in range(2):
                assert archive.sync(start="2027-02-01", end="2027-03-02", tables=["players", "shots"], progress=False).complete
        for frame in (archive.scan("players"), archive.as_of(datetime.now(UTC)).scan("players")):
            assert sorted(frame.collect()["player_id"]) == sorted([*players, players[6]])
        shots = archive.scan("shots").filter(pl.col("player_id") != players[6]).collect()
        assert shots.height > 0
        assert archive.sql(f"from shots join players using (team_id, player_id) where player_id != {players[6]}").num_rows == shots.height
        archive.rebuild("players")
        assert archive.scan("players").collect().height == len(players) + 1


def test_without_rosters_nobody_is_known(tmp_path: Path, client: sideline.Client, service: sideline.Simulator) -> None:
    archive = sideline.Archive(tmp_path / "season", client)
    archive.sync(game_ids=[service.games[0]["event_id"]], tables=["shots"])
    assert archive.players().num_rows == 0
    with pytest.raises(FileNotFoundError):
        sideline.Archive(tmp_path / "none").players()
