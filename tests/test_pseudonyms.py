"""Pseudonyms: consistent, injective, of the same types, and nothing of the original."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from needs import library, needs
from service import Service

import sideline
from sideline._companions import Pseudonyms, pseudonyms_of, state_folder

pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")

KEY = b"a key of at least 16 bytes"
OTHER_KEY = b"another key of 16 bytes"
GAME = "9c4792da-4aa7-4c38-a86e-80a9f8af8c79"


@pytest.fixture
def pseudonyms() -> Pseudonyms:
    return Pseudonyms(KEY)


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_numbers_are_permuted_within_their_digits_and_none_stays(pseudonyms: Pseudonyms, digits: int) -> None:
    numbers = range(10 ** (digits - 1), 10**digits)
    replacements = [pseudonyms.number(number) for number in numbers]
    assert sorted(replacements) == list(numbers)
    assert all(number != replacement for number, replacement in zip(numbers, replacements, strict=True))
    assert replacements != [Pseudonyms(OTHER_KEY).number(number) for number in numbers]
    assert replacements != [pseudonyms.number(number, "jersey") for number in numbers], "a jersey does not show an id"


def test_zero_stays_and_large_numbers_keep_their_type(pseudonyms: Pseudonyms) -> None:
    assert pseudonyms.number(0) == 0
    assert pseudonyms.number(-7) == -pseudonyms.number(7)
    for number in (2**63 - 1, 10**18, 2**63 - 5):
        assert 10**18 <= pseudonyms.number(number) < 2**63
        assert -(2**63) < pseudonyms.number(-number) <= -(10**18)
    assert pseudonyms.number(-(2**63)) == -(2**63), "no other number has as many bits"
    assert 2**63 < pseudonyms.number(2**63 + 1) < 10**19


def test_words_keep_length_case_and_separators(pseudonyms: Pseudonyms) -> None:
    for name in ("Ann Lee", "Chloé O'Neil-Łukasz", "Đorđe", "张伟", "José 3rd", "a.b@example.com"):
        replacement = pseudonyms.text(name)
        assert len(replacement) == len(name) and replacement != name
        for before, after in zip(name, replacement, strict=True):
            assert before.isupper() == after.isupper() and before.isalpha() == after.isalpha()
            assert before.isalnum() or before == after
    # The same word is the same in every field.
    assert pseudonyms.text("Ann Lee").split() == [pseudonyms.text("Ann"), pseudonyms.text("Lee")]


def test_words_and_ids_are_mapped_injectively(pseudonyms: Pseudonyms) -> None:
    dice = random.Random(3)
    words = {"".join(dice.choices(string.ascii_letters + "éßł" + string.digits, k=dice.randint(1, 6))) for _ in range(1500)}
    words |= {f"{dice.randrange(10**6):0{dice.randint(1, 7)}}" for _ in range(500)}
    assert len({pseudonyms.text(word) for word in words}) == len(words)
    assert all(pseudonyms.text(word) != word for word in words if word.strip("0"))


def test_an_id_is_the_same_as_a_number_a_text_and_a_part(pseudonyms: Pseudonyms) -> None:
    body = {"id": 1100, "pid": "1100", "players": ["1100", 1100], "tag": "065001", "sensor": 65001, "id_0": 0, "player_id": 0}
    replacement = json.loads(pseudonyms.body(json.dumps(body).encode()))
    number = pseudonyms.number(1100)
    assert (replacement["id"], replacement["pid"], replacement["players"]) == (number, str(number), [str(number), number])
    assert (replacement["tag"], replacement["sensor"]) == (f"0{replacement['sensor']}", pseudonyms.number(65001))
    assert replacement["player_id"] == 0
    assert pseudonyms.path(f"/v1/data/games/{GAME}/events") == f"/v1/data/games/{pseudonyms.text(GAME)}/events"
    assert pseudonyms.path("/v1/data/teams/46,SHOTTRACKER") == f"/v1/data/teams/{pseudonyms.number(46)},SHOTTRACKER"
    link = pseudonyms.link(f"https://api.example.com/v1/data/sensors/locations?id={GAME}&from=5&to=6")
    assert link == f"https://service.invalid/v1/data/sensors/locations?id={pseudonyms.text(GAME)}&from=5&to=6"
    assert pseudonyms.query([("event_id", GAME), ("from", "11"), ("apikey", "secret")]) == [("event_id", pseudonyms.text(GAME)), ("from", "11")]


def test_numbers_of_the_game_times_and_codes_stay_byte_for_byte(pseudonyms: Pseudonyms) -> None:
    body = b""" {"teams" : [ {"occurred_at":1700000000000, "x": -12.50, "FGA":7.0, "stats": {"FG3": 1e2}, "period": "Q1", "game_clock":"9:58.7",
      "name": "H2", "status": "RECORDED", "attributes": ["OTD", "CAS"], "is_make": true, "drb": null, "position": "center", "value": 3 } ] } """
    assert pseudonyms.body(body) == body


def test_unknown_fields_are_replaced_or_are_ids(pseudonyms: Pseudonyms) -> None:
    body: dict[str, Any] = {"id": 1100, "last_name": "Adams", "mood": "calm", "mascot_id": 77, "captain": 1100, "height": 198, "Adams": 1, GAME: {"11": 2}}
    body |= {"note": "see ADAMS at a.adams@example.com", "source": "ADAMS", "status": "Adams", "token": "abcdef", "start_token": "t"}
    raw = json.dumps(body).encode()
    pseudonyms.learn(raw)
    replacement: dict[str, Any] = json.loads(pseudonyms.body(raw))
    assert replacement["captain"] == replacement["id"] == pseudonyms.number(1100), "its value is a known id"
    assert replacement["height"] == 198 and replacement["mascot_id"] == pseudonyms.number(77)
    assert replacement["mood"] == pseudonyms.text("calm") != "calm"
    assert replacement["token"] == replacement["start_token"] == "***"
    text = json.dumps(replacement).lower()
    assert "adams" not in text and GAME not in text and '"11"' not in text


def test_keys_and_codes_of_the_service_stay_whatever_the_names_are(pseudonyms: Pseudonyms) -> None:
    names = b'{"teams":[{"id":12345,"name":"Team Shots Of State"},{"id":12346,"name":"Made Position To"},{"id":12347,"name":"Miss Guarded Zoom"}]}'
    body = b'{"teams":{"shots":[{"status":"RECORDED","st":"MISS","attributes":["GUARDED"],"position":"G"}],"state":null},"TO":1}'
    pseudonyms.learn(names)
    assert pseudonyms.body(body) == body
    # A code that nobody knows and that is a name, or a part of one, is replaced; so is such a key.
    pseudonyms.learn(b'{"name":"Ann Quimby"}')
    replacement = json.loads(pseudonyms.body(b'{"status":"QUIMBY","type":"quimby_leads","st":"ZOOM_IN","quimby":1,"points_of_quimby":2}'))
    assert "quimby" not in json.dumps(replacement).lower() and "ZOOM" not in json.dumps(replacement)
    assert [*replacement.values()][3:] == [1, 2]


@pytest.mark.parametrize("cut", range(1, 100, 7))
def test_a_cut_body_shows_nothing(pseudonyms: Pseudonyms, cut: int) -> None:
    complete = json.dumps({"teams": [{"name": "Ames Rovers", "id": 4711, "players": [{"last_name": 'O"Neil \\ Ito'}]}]}).encode()
    replacement = pseudonyms.body(complete[:cut])
    assert not any(part in replacement for part in (b"Ames", b"Rover", b"4711", b"Neil"))
    if b"\\" not in complete[:cut]:
        assert len(replacement) == cut


def test_a_body_that_is_not_json_is_one_text(pseudonyms: Pseudonyms) -> None:
    replacement = pseudonyms.body("<html><body>Ann Lee: 4711 \udcff</body></html>".encode("utf-8", "surrogateescape"))
    assert b"Ann" not in replacement and b"4711" not in replacement and b"\xff" in replacement
    assert pseudonyms.body(b"null") == b"null" and pseudonyms.body(b"17") == b"17"


def test_known_words_of_error_messages_stay(pseudonyms: Pseudonyms) -> None:
    for message in ("No access to STATS data", "Game not found | Team not found in the game"):
        assert pseudonyms.message(message) == message
    replacement = pseudonyms.message("Restricted resource for Ann")
    assert "Ann" not in replacement and replacement.startswith("Restricted resource")


@pytest.mark.parametrize("key", ["too short", b"", 7, None, False])
def test_a_short_key_is_refused(key: Any) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        pseudonyms_of(key)


def test_the_own_key_is_made_once_and_only_the_user_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    first = pseudonyms_of(True).text("Ann")
    assert pseudonyms_of(True).text("Ann") == first
    (file,) = state_folder().iterdir()
    assert file.stat().st_mode & 0o077 == 0 and len(file.read_bytes()) == 64


# Archives


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[sideline.Archive, set[bytes]]]:
    """An archive with a correction, and the names and ids in it."""
    library("deltalake")
    with Service(seed=5, now="2027-03-05T12:00:00+00:00", teams=2, games=2, sessions=(1, 1), possessions=3, practices=0, days=8) as league:
        with sideline.Client(**league.client_options(), max_retries=0) as client:
            archive = sideline.Archive(tmp_path_factory.mktemp("archives") / "season", client)
            span: dict[str, Any] = {"start": "2027-01-01", "end": "2027-06-01", "on_error": "keep", "progress": False}
            league.faults.add("shots", path=f"/{league.season.games[0].sessions[0].id}/", status=500, body={"message": "no shots of Adams"})
            archive.sync(**span)
            league.change.correct_stat()
            archive.sync(**span, correction_window=None)
            yield archive, originals(league)


def originals(league: Service) -> set[bytes]:
    """Names, ids and references of a season that no output may have."""
    season = league.season
    names = {word for player in season.players for word in (player.first_name, player.last_name, f"p-{player.id}", str(player.sensor))}
    names |= {"Adams"} | {team.name for team in season.teams} | {game.id for game in season.games} | {game.court_id for game in season.games}
    names |= {session.id for event in season.played for session in event.sessions} | {f"/players/{player.id}.png" for player in season.players}
    return {name.encode() for name in names if len(name) >= 4}


@needs("polars")
def test_a_corrected_text_has_the_pseudonym_of_its_column_and_times_and_codes_stay(tmp_path: Path) -> None:
    pl = library("polars")
    with Service(seed=5, now="2027-03-05T12:00:00+00:00", teams=2, games=1, sessions=(1, 1), possessions=1, practices=0, days=8) as league:
        with sideline.Client(**league.client_options()) as client:
            archive = sideline.Archive(tmp_path / "season", client)
            span: dict[str, Any] = {"start": "2027-01-01", "end": "2027-06-01", "progress": False, "correction_window": None}
            archive.sync(**span)
            game = league.season.games[0]
            league.change.move_game(game.id, timedelta(minutes=30))
            league.change.change_status(game.id)
            league.change.rename_team(game.home_id)
            archive.sync(**span)
    archive.publish(tmp_path / "release", pseudonyms=KEY)
    game_id = Pseudonyms(KEY).text(game.id)
    [row] = pl.read_parquet(tmp_path / "release" / "games" / "*.parquet").filter(game_id=game_id).to_dicts()
    corrections = pl.read_parquet(tmp_path / "release" / "corrections" / "*.parquet").filter(pl.col("table").cast(pl.String) == "games")
    new = {correction["field"]: json.loads(correction["new"]) for correction in corrections.to_dicts()}
    assert new["home_team_name"] == row["home_team_name"]
    assert new["status"] == row["status"] == game.status
    assert datetime.fromisoformat(new["tipoff_at"]) == row["tipoff_at"]


@needs("polars")
def test_a_published_season_joins_within_one_key_and_shows_nothing(season: tuple[sideline.Archive, set[bytes]], tmp_path: Path) -> None:
    pl = library("polars")
    archive, names = season
    for folder, key in (("one", KEY), ("same", KEY), ("other", OTHER_KEY)):
        archive.publish(tmp_path / folder, pseudonyms=key)
    archive.publish(tmp_path / "plain")
    pseudonyms = Pseudonyms(KEY)

    def read(folder: str, table: str) -> Any:
        return pl.read_parquet(tmp_path / folder / table / "*.parquet")

    shots, players = read("one", "shots"), read("same", "players")
    assert shots.height > 0 and shots.join(players, on="player_id", how="anti").height == 0
    assert shots.join(read("other", "players"), on=["team_id", "player_id"]).height < shots.height
    for table in ("teams", "players", "games", "sessions", "shots", "box_score", "possessions", "stat_events", "corrections", "coverage"):
        plain, replacement = read("plain", table), read("one", table)
        assert replacement.schema == plain.schema and replacement.height == plain.height > 0
        for column in ("x", "y", "zone", "PTS", "value", "occurred_at", "tipoff_at", "game_clock", "status", "period", "passes", "operation"):
            if column in plain.columns:
                assert replacement[column].to_list() == plain[column].to_list(), (table, column)
        for column in ("team_id", "player_id", "home_team_id"):
            if column in plain.columns:
                assert replacement[column].to_list() == [None if value is None else pseudonyms.number(value) for value in plain[column]]
        if "lineup_id" in plain.columns:
            assert replacement["lineup_id"].to_list() == ["-".join(map(str, sorted(ids))) for ids in replacement["player_ids"]]
    assert read("one", "corrections")["new"].to_list() == read("plain", "corrections")["new"].to_list()
    text = b"".join(path.read_bytes() for path in (tmp_path / "one").rglob("*.json"))
    text += b"".join(str(read("one", path.name).to_dicts()).encode() for path in (tmp_path / "one").iterdir() if path.is_dir())
    assert {name for name in names if name in text} == set()
    plain_text = str(read("plain", "players").to_dicts()).encode()
    assert any(name in plain_text for name in names), "the search finds them"


@needs("polars")
def test_an_export_stays_current_and_keeps_its_key(season: tuple[sideline.Archive, set[bytes]], tmp_path: Path) -> None:
    duckdb = library("duckdb")
    library("adbc_driver_manager")
    archive, names = season
    target = f"duckdb://{tmp_path}/season.duckdb"
    assert archive.export(target, pseudonyms=KEY).units > 0
    assert archive.export(target, pseudonyms=KEY).units == 0
    for key in (OTHER_KEY, None):
        with pytest.raises(ValueError, match="other pseudonyms"):
            archive.export(target, pseudonyms=key)
    with duckdb.connect(f"{tmp_path}/season.duckdb") as database:
        tables = [name for (name,) in database.sql("select table_name from information_schema.tables").fetchall()]
        text = "\n".join(str(database.sql(f'from "{table}"').fetchall()) for table in tables).encode()
        assert database.sql("select count(*) from shots join players using (team_id, player_id)").fetchall()[0][0] > 0
    assert {name for name in names if name in text} == set()
