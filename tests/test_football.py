"""Football: the columns of its box score, and the simulator's invented game."""

import copy
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from contract import CODES
from needs import ARCHIVE, library, needs
from service import Features, Service

import sideline

pl = library("polars")

NOW = "2027-03-01T12:00:00Z"
KEYS = [
    "session_id",
    "game_id",
    "team_id",
    "team_name",
    "player_id",
    "first_name",
    "last_name",
    "is_team_total",
    "version",
    "games_played",
]
INVENTED_CODES = ["INVENTED_PLAYS", "INVENTED_POINTS", "INVENTED_YARDS"]
EMPTY = b'{"teams": []}'


@pytest.fixture(scope="module")
def service() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=3, sport="football", teams=4, games=12, now=NOW) as service:
        yield service


@pytest.fixture(scope="module")
def client(service: sideline.Simulator) -> Iterator[sideline.Client]:
    with service.client() as client:
        yield client


@pytest.fixture(scope="module")
def game(client: sideline.Client, service: sideline.Simulator) -> sideline.Payload:
    return client.game(service.games[0]["event_id"])


def body(stats: dict[str, float]) -> bytes:
    return json.dumps({"teams": [{"id": 7, "name": "Owls", "player_stats": [{"id": 11, "version": 1, "stats": stats}]}]}).encode()


def names(payload: Any) -> list[str]:
    return list(payload.table("box_score").column_names)


# The columns of a box score.


def test_the_schemas_of_football_differ_in_the_box_score_alone() -> None:
    football = sideline.SCHEMAS.of_sport("football")
    assert football["box_score"].names == KEYS
    assert sideline.SCHEMAS["box_score"].names[: len(KEYS) + len(CODES)] == [*KEYS, *CODES]
    assert {name for name in sideline.SCHEMAS if football[name] != sideline.SCHEMAS[name]} == {"box_score", "game_box_score"}
    assert pickle.loads(pickle.dumps(football["box_score"])) == football["box_score"]
    assert "no code of football is documented" in (football["box_score"].description or "")
    with pytest.raises(ValueError, match='sport is "basketball" or "football", not "soccer"'):
        sideline.SCHEMAS.of_sport("soccer")  # type: ignore[arg-type]


@pytest.mark.parametrize("operation", ["stats", "team_game_stats"])
def test_the_sport_of_the_request_and_not_the_codes_of_the_body_decides(operation: str) -> None:
    def read(raw: bytes, sport: Any) -> sideline.Payload:
        return sideline.Payload.from_bytes(operation, raw, session_id="s", game_id="g", sport=sport)

    for stats in ({"RUSH_YDS": 87.5, "TD": 1}, {"PTS": 6, "FG": 2}, {}):
        assert names(read(body(stats), "football")) == [*KEYS, *sorted(stats)]
        columns = sideline.SCHEMAS["box_score"].names
        assert names(read(body(stats), "basketball"))[: len(columns)] == columns
    if operation == "stats":
        assert names(read(EMPTY, "football")) == KEYS
    with pytest.raises(ValueError, match='sport is "basketball" or "football", not "rugby"'):
        read(EMPTY, "rugby")


def test_a_catch_up_of_football_has_footballs_box_score() -> None:
    raw = json.dumps({"stats": [{"pid": "11", "tid": "7", "totalStats": {"TD": 2, "FG": 1}}], "gameTotals": {}}).encode()
    payload = sideline.Payload.from_bytes("catch_up", raw, game_id="g", sport="football")
    assert names(payload) == [*KEYS, "FG", "TD"]
    assert payload.table("box_score").to_dicts()[0]["TD"] == 2.0


def test_a_payload_a_batch_and_their_copies_keep_the_sport(client: sideline.Client, game: sideline.Payload) -> None:
    session = game.table("sessions").to_dicts()[0]["session_id"]
    payload, batch = client.stats(session), client.stats(game)
    for read in (payload, batch, client.stats([]), client.follow(game["results"][0]["_stats"])):
        expected = KEYS if read is not payload and not len(read) else [*KEYS, *INVENTED_CODES]
        for payload_copy in (read, pickle.loads(pickle.dumps(read)), copy.copy(read)):
            assert names(payload_copy) == expected
    team = game["game_attributes"]["home_team_id"]
    assert names(client.team_game_stats(team, game_id=game["id"])) == [*KEYS, *INVENTED_CODES]
    assert names(client.catch_up(game["id"], ["stats", "shots"])) == [*KEYS, *INVENTED_CODES]


@needs("polars")
def test_a_plan_has_footballs_columns(client: sideline.Client, game: sideline.Payload) -> None:
    sessions = game.table("sessions").to_polars()["session_id"].to_list()
    plan = client.plan("box_score", session_ids=sessions)
    assert plan.schema.names == KEYS
    assert client.plan("box_score", session_ids=[]).schema == plan.schema
    with pytest.raises(ValueError, match="box_score has no column 'PTS'; it has session_id"):
        client.plan("box_score", session_ids=sessions, columns=["PTS"])


def test_a_live_box_score_has_the_columns_of_its_sport() -> None:
    seed = sideline.Payload.from_bytes("stats", body({"TD": 1}), sport="football")
    assert sideline.LiveBoxScore(seed).table().column_names == [*KEYS, "TD"]
    assert sideline.LiveBoxScore(sport="football").table().column_names == KEYS
    assert sideline.LiveBoxScore().table().column_names == sideline.SCHEMAS["box_score"].names
    with pytest.raises(ValueError, match="sport is"):
        sideline.LiveBoxScore(sport="soccer")  # type: ignore[arg-type]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A recorded stream of one message with a code of football."""
    path = tmp_path / "game.journal"
    with Service(seed=3, features=Features(subscription_token=True)) as service:
        game_id = service.season.events[0].id
        client = sideline.Client(**service.client_options(), sport="football")
        with client.live(game_id).record(path) as stream:
            assert isinstance(next(stream), sideline.live.Connected)
            service.live.send({"occurred_at": 1, "team_id": 7, "player_id": 11, "stats": {"TD": 2}, "version": 1}, source="stats")
            assert isinstance(next(stream), sideline.Update)
    return path


@pytest.mark.parametrize("score", [None, sideline.LiveBoxScore(sport="football")])
def test_a_display_has_the_codes_of_football(journal: Path, score: sideline.LiveBoxScore | None, capsys: pytest.CaptureFixture[str]) -> None:
    sideline.replay(journal, speed=None).display(score)
    *_, head, line = capsys.readouterr().out.splitlines()
    assert (head.split(), line.split()) == (["team_id", "player_id", "TD"], ["7", "11", "2"])


def test_a_page_of_a_client_of_football_has_a_feed_of_football() -> None:
    with Service(seed=3, features=Features(subscription_token=True)) as service:
        client = sideline.Client(**service.client_options(), sport="football")
        with client.live(service.season.events[0].id).serve(feed=True) as page, urlopen(page.url + "feed.csv") as response:
            columns = response.read().decode().strip().split(",")
    assert not set(columns) & set(CODES)


@needs(*ARCHIVE)
def test_a_report_has_no_points_of_football(client: sideline.Client, game: sideline.Payload, tmp_path: Path) -> None:
    archive = sideline.Archive(tmp_path / "football", client)
    archive.sync(game_ids=[game["id"]], progress=False)
    [row] = re.findall(r"<tr>.*?</tr>", archive.report().html.partition("Scores and leaders")[2], re.DOTALL)[1:2]
    assert "?–?" in row
    assert "0–0" not in row


# The simulator's game.


@needs("polars")
def test_the_score_of_each_period_is_the_sum_of_its_points(client: sideline.Client, game: sideline.Payload) -> None:
    events = client.stats_details(game).to_polars("stat_events").filter(pl.col("stat") == "INVENTED_POINTS", ~pl.col("is_team_total"))
    totals = client.game_shots(game["id"])["gameTotals"]
    assert [total["period"] for total in totals["periodTotals"]] == ["Q4", "Q3", "Q2", "Q1"]
    scores = {}
    for part in [*totals["periodTotals"], {**totals, "sessionId": None}]:
        for side in ("home", "away"):
            score = part[f"{side}TeamScore"]
            team_events = events.filter(pl.col("team_id") == int(score["teamId"]))
            if part["sessionId"] is not None:
                team_events = team_events.filter(pl.col("session_id") == part["sessionId"])
            assert team_events["value"].sum() == score["value"]
            scores[part["sessionId"], side] = score["value"]
    assert scores[None, "home"] > 0
    assert scores[None, "away"] > 0


@needs("polars")
def test_events_and_positions_are_on_one_field(client: sideline.Client, game: sideline.Payload) -> None:
    session = game.table("sessions").to_dicts()[0]
    events = client.stats_details(session["session_id"]).to_polars("stat_events").filter(stat="INVENTED_PLAYS", is_team_total=False)
    assert events["x"].abs().max() <= 24_384
    assert events["y"].abs().max() <= 45_720
    links = game.table("location_windows").to_polars().filter(session_id=session["session_id"])
    assert links.height > 1
    first = events.sort("occurred_at").row(0, named=True)
    locations = client.locations(session["session_id"], session["started_at"], first["occurred_at"]).to_polars()
    last = locations.filter(pl.col("t") == pl.col("t").max())
    assert sorted(last["type"].to_list()) == ["BALL", *["PLAYER"] * 22]
    assert last.filter(pl.col("player_id").is_not_null())["team_id"].value_counts()["count"].to_list() == [11, 11]
    carrier = last.filter(player_id=first["player_id"]).row(0, named=True)
    assert abs(carrier["x"] - first["x"]) + abs(carrier["y"] - first["y"]) < 1000
    assert locations["y"].abs().max() <= 54_864
