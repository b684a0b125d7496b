"""Finding teams and players, names beside ids, columns, one column, files, and a timeout of a call's own: against the second service."""

from __future__ import annotations

import asyncio
import csv
import json
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import library, needs
from service import Service

import sideline
from sideline._client.find import is_named, words

pl = library("polars")
pa = library("pyarrow")

JOKIC = 7


@pytest.fixture(scope="module")
def second() -> Iterator[Service]:
    with Service(seed=5, teams=4, games=2, practices=0, upcoming=0) as service:
        players = service.season.players
        players[JOKIC] = replace(players[JOKIC], first_name="Nikola", last_name="Jokić-O'Brien")
        yield service


@pytest.fixture(scope="module")
def second_client(second: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**second.client_options(), max_retries=0) as client:
        yield client


@pytest.mark.parametrize(
    ("query", "name", "is_match"),
    [
        ("jokic", "Nikola Jokić", True),
        ("JOKIĆ nikola", "Nikola Jokić", True),
        ("jok", "Nikola Jokić", True),
        ("okic", "Nikola Jokić", False),
        ("jokic luka", "Nikola Jokić", False),
        ("obrien", "Pat O'Brien", True),
        ("st james", "Cole St. James", True),
        ("strasse", "Straße", True),
        ("lukasz", "Łukasz", True),
        ("istanbul", "İstanbul", True),
        ("hal nguema", "Ħal Ŋguema", True),
        ("kaohoi", "Kaoho\u02bbi", True),
    ],
)
def test_a_name_is_found_by_any_of_its_words(query: str, name: str, is_match: bool) -> None:
    assert is_named(query, name) is is_match


@needs("polars")
@pytest.mark.parametrize("name", ["Åse Ħal", "Ŋguema Łø", "Þór Ðæł", "Knud Ǿrsted", "I\u015f\u0131k Strauß", "Kaoho\u02bbi O\u2019Neal"])
def test_names_are_found_and_matched_by_the_same_plain_letters(name: str) -> None:
    plain = " ".join(words(name))
    assert plain.replace(" ", "").isascii()
    assert is_named(plain, name)
    first_name, last_name = name.split()
    players = sideline.Table.from_arrow(pl.DataFrame({"player_id": [1], "first_name": [first_name], "last_name": [last_name]}))
    assert sideline.crosswalk(players, pl.DataFrame({"name": [plain]}))["method"] == ["name"]


def test_a_name_without_letters_or_digits_is_refused(second_client: sideline.Client) -> None:
    for name in ("", "  ", "—", "..."):
        with pytest.raises(ValueError, match="letter or a digit"):
            second_client.find_team(name)
        with pytest.raises(ValueError, match="letter or a digit"):
            second_client.find_player(name)
    with pytest.raises(TypeError, match="name is a str, not int"):
        second_client.find_team(7)  # type: ignore[arg-type]


def test_teams_and_players_are_found(second: Service, second_client: sideline.Client) -> None:
    team = second.season.teams[2]
    word = words(team.name)[-1]
    teams = second_client.find_team(word.upper())
    assert teams.name == "teams"
    assert team.id in teams["team_id"]
    assert teams["name"] == [season_team.name for season_team in second.season.teams if word in words(season_team.name)]
    player = second.season.players[JOKIC]
    for team_id in (None, player.team_id, [player.team_id], second_client.teams(), second_client.find_team(second.season.team_name(player.team_id))):
        players = second_client.find_player("jokic", team_id=team_id)
        assert (players.name, players["player_id"], players["last_name"]) == ("players", [player.id], ["Jokić-O'Brien"])
    other = next(season_team.id for season_team in second.season.teams if season_team.id != player.team_id)
    assert second_client.find_player("jokic", team_id=other).num_rows == 0
    assert second_client.find_player("jokic", team_id=other).column_names == [*sideline.SCHEMAS["players"].names, "team_name"]
    assert second_client.find_player("jokic")["team_name"] == [second.season.team_name(player.team_id)]


def test_the_same_awaited(second: Service) -> None:
    async def find() -> tuple[Any, Any]:
        async with sideline.AsyncClient(**second.client_options()) as client:
            return await client.find_team(second.season.teams[0].name), await client.find_player("nikola jokic")

    teams, players = asyncio.run(find())
    assert teams["team_id"] == [second.season.teams[0].id]
    assert players["player_id"] == [second.season.players[JOKIC].id]


def test_a_roster_that_is_missing_is_no_response_and_a_forbidden_one_is_left_out(second: Service, second_client: sideline.Client) -> None:
    team = next(season_team.id for season_team in second.season.teams if season_team.id != second.season.players[JOKIC].team_id)
    second.faults.add("roster", path=f"/{team}", status=500)
    with pytest.raises(sideline.IncompleteBatch):
        second_client.find_player("jokic")
    second.faults.clear()
    second.faults.add("roster", path=f"/{team}", status=403, body={"error": "Forbidden", "serviceRequestId": "r-1"})
    assert second_client.find_player("jokic").num_rows == 1
    second.faults.clear()


def test_finding_a_player_raises_where_no_roster_may_be_read(second: Service) -> None:
    second.faults.add("roster", status=403, body={"error": "Forbidden", "serviceRequestId": "r-1"})
    with sideline.Client(**second.client_options()) as client:
        for team_id in (None, second.season.teams[0].id, [second.season.teams[0].id]):
            with pytest.raises(sideline.IncompleteBatch, match=r"\d forbidden"):
                client.find_player("jokic", team_id=team_id)
        assert client.find_player("jokic", team_id=[]).num_rows == 0
    second.faults.clear()


def test_the_team_of_a_player_may_be_a_scalar_of_numpy(second: Service) -> None:
    team = second.season.players[JOKIC].team_id
    with sideline.Client(**second.client_options()) as client:
        for scalar in (np.int64(team), np.array(team)):
            assert client.find_player("jokic", team_id=scalar).num_rows == 1


def test_an_id_of_another_system_may_be_a_word(second: Service) -> None:
    with sideline.Client(**second.client_options(), max_retries=0) as client:
        for team_id in ("DUKE", ["DUKE"]):
            with pytest.raises((sideline.NotFound, sideline.IncompleteBatch), match="returned 404: Team not found"):
                client.roster(team_id, reference="NCAA")
            for reference in (None, "SHOTTRACKER"):
                with pytest.raises(ValueError, match=r"team_id is 'DUKE', and it must be a number"):
                    client.roster(team_id, reference=reference)


def test_a_misspelt_name_gets_a_suggestion(service: sideline.Simulator) -> None:
    with service.client() as client:
        with pytest.warns(UserWarning, match=r"^teams has no row named 'marinrs'; did you mean Elkhorn Mariners\?") as records:
            assert client.find_team("marinrs").num_rows == 0
        assert records[0].filename == __file__
        with pytest.warns(UserWarning, match=r"^players has no row named 'trey janson'; did you mean Trey Jansen"):
            assert client.find_player("trey janson").num_rows == 0
        assert client.find_team("xyzzy").num_rows == 0, "without a warning, which would be an error here"


def test_a_table_with_one_row_is_one_id_and_any_other_says_what_it_has(second: Service, second_client: sideline.Client) -> None:
    schedule = second_client.schedule("2026-10-01", "2027-05-01")
    game = schedule.table().to_dicts()[0]
    team = second_client.find_team(game["home_team_name"])
    assert game["game_id"] in second_client.schedule("2026-10-01", "2027-05-01", team_id=team).table()["game_id"]
    by_id = second_client.team_game_stats(game["home_team_id"], game_id=game["game_id"])
    assert second_client.team_game_stats(game["home_team_id"], game_id=second_client.game(game["game_id"])).raw == by_id.raw
    with pytest.raises(ValueError, match=r"team_id takes one id, and this Table has no row: nothing was found"):
        second_client.schedule("2026-10-01", team_id=second_client.find_team("xyzzy"))
    with pytest.raises(ValueError, match=r"team_id takes one id, and this Payload has 4: pass one of \[\d+, "):
        second_client.schedule("2026-10-01", team_id=second_client.teams())
    with pytest.raises(TypeError, match=r"A schedule has games: client.game\(schedule\) requests their sessions"):
        second_client.stats(schedule)


def test_the_name_of_a_team_is_refused_with_how_to_find_it(client: sideline.Client, tmp_path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: client.schedule("2026-10-01", team_id="mariners"),
        lambda: client.roster("mariners"),
        lambda: client.roster(["mariners"]),
        lambda: client.team_events("mariners", "2026-10-01", "2026-10-02"),
        lambda: client.team_game_stats("mariners", game_id="g"),
        lambda: client.team_game_stats([1, "mariners"], game_id="g"),
        lambda: client.game_events("g", team_id="mariners"),
        lambda: client.game_events(["g"], team_id="mariners"),
        lambda: client.broadcast_roster("mariners"),
        lambda: client.matchup("mariners", "2026-10-01", reference="SHOTTRACKER", gender="MEN"),
        lambda: client.matchup([1, "mariners"], "2026-10-01", reference="SHOTTRACKER", gender="MEN"),
        lambda: client.plan("shots", team_ids="mariners", start="2026-10-01"),
        lambda: sideline.Archive(tmp_path / "x", client).sync(team_ids=["mariners"], start="2026-10-01", end="2026-10-02"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"client\.find_team\("):
            call()


def test_a_table_of_a_team_goes_where_its_ids_do(client: sideline.Client) -> None:
    team = client.find_team("mariners")
    games, by_id = (client.matchup(ids, "2026-10-01", "2027-05-01", reference="SHOTTRACKER", gender="MEN") for ids in (team, team["team_id"]))
    assert games.raw == by_id.raw and games.table().num_rows > 0


def test_the_ids_of_a_table_do_not_make_dicts_of_its_rows(client: sideline.Client) -> None:
    texts = [f"text {number}" for number in range(20_000)]
    table = sideline.Table.from_arrow(pl.DataFrame({"game_id": texts, **{f"column_{number}": texts for number in range(20)}}))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="game_id takes one id, and this Table has 20000"):
            client.box_score(table)
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()


def test_a_list_where_one_id_goes_is_refused_with_what_to_write(game: dict[str, Any], client: sideline.Client) -> None:
    for method, call in {"box_score": client.box_score, "tracking": client.tracking}.items():
        for ids in ([game["id"]], [game["id"], game["id"]], pl.Series([game["id"]])):
            with pytest.raises(TypeError, match=rf"game_id is one id, not (list|Series): call client.{method} once for each of its ids"):
                call(ids)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="game_id takes one id, not list: pass one of its ids, and call once for each"):
        client.subscription_token([game["id"]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not a LazyFrame: write \.collect\(\) and name a column"):
        client.stats(pl.LazyFrame({"session_id": ["s"]}))  # type: ignore[call-overload]


def test_arguments_that_select_no_game_raise(second: Service, second_client: sideline.Client, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"team_id is 'marinerz', and it must be a number: client.find_team\('marinerz'\)"):
        second_client.schedule("2026-10-01", team_id="marinerz")
    no_teams = second_client.find_team("xyzzy")
    season = second_client.season("2026-27", team_ids=no_teams)
    for read in (lambda: season.scan("shots"), lambda: season.plan("shots")):
        with pytest.raises(ValueError, match="team_ids has no team: if a search found none, check the name"):
            read()
    with pytest.raises(ValueError, match="team_ids has no team"):
        sideline.Archive(tmp_path / "season", second_client).sync(team_ids=no_teams, start="2026-11-01", end="2026-11-02")
    assert not (tmp_path / "season").exists()


def test_names_stand_beside_ids(second: Service, second_client: sideline.Client) -> None:
    _, session = second.season.sessions()[0]
    full = {player.id: f"{player.first_name} {player.last_name}" for player in second.season.players}
    shots = second_client.shots(session.id).table(names=True)
    assert shots.column_names == [*sideline.SCHEMAS["shots"].names, "team_name", "player_name", "defender_names"]
    assert shots.num_rows
    for row in shots.to_dicts():
        assert row["player_name"] == full[row["player_id"]]
        assert row["team_name"] == second.season.team_name(row["team_id"])
    payload = second_client.possessions(session.id)
    events = payload.table("possession_events", ["player_id", "possession_type"], names=True)
    assert events.column_names == ["player_id", "possession_type", "player_name"]
    assert [row["player_name"] for row in events.to_dicts()] == [full[row["player_id"]] for row in events.to_dicts()]
    lineups = payload.table("possessions", names=True).to_dicts()
    assert lineups[0]["player_names"] == [full[player_id] for player_id in lineups[0]["player_ids"]]
    assert "Name of player_ids" in (payload.table("possessions", names=True).schema["player_names"].description or "")
    batch = second_client.shots([session.id for _, session in second.season.sessions()[:2]])
    assert batch.table(names=True)["player_name"] == [full[player_id] for player_id in batch.table()["player_id"]]


def test_names_need_nothing_of_the_data() -> None:
    empty_shots = sideline.Payload.from_bytes("shots", b'{"teams": []}', session_id="s").table(names=True)
    assert empty_shots.column_names[-3:] == ["team_name", "player_name", "defender_names"]
    game_shots = sideline.Payload.from_bytes("game_shots", b'{"shots": [{"gid": "g", "pid": 7, "tid": 8}]}').table(names=True)
    assert game_shots["player_name"] == [None]
    box = sideline.Payload.from_bytes("stats", b'{"teams": []}', session_id="s").table("box_score", names=True)
    assert "player_name" not in box.column_names, "it has first and last names"


@needs("polars")
@pytest.mark.parametrize("source", ["payload", "batch"])
def test_columns_can_be_chosen_in_every_conversion(second: Service, second_client: sideline.Client, source: str) -> None:
    session = second.season.sessions()[0][1].id
    response: Any = second_client.stats(session) if source == "payload" else second_client.stats([session])
    columns = ["PTS", "player_id"]
    assert response.to_arrow("box_score", columns).column_names == columns
    assert response.to_polars("box_score", columns=columns).columns == columns
    assert list(response.to_pandas("box_score", columns=columns)) == columns
    table = response.table("box_score")
    assert table.to_arrow(columns).column_names == table.to_polars(columns).columns == list(table.to_pandas(columns)) == columns
    assert table.to_polars(columns).equals(response.to_polars("box_score", columns))
    with pytest.raises(ValueError, match="no column 'nothing'|nothing"):
        table.to_polars(["nothing"])
    assert table.to_polars("PTS").columns == ["PTS"]


def test_a_column_is_a_list_of_values(second: Service, second_client: sideline.Client) -> None:
    event = second.season.played[0]
    sessions = second_client.game(event.id).table("sessions")
    assert sessions["session_id"] == [session.id for session in event.sessions]
    assert len(second_client.stats(sessions["session_id"])) == len(event.sessions)
    with pytest.raises(KeyError, match=r"no column \\?\"nothing\\?\"; there are: team_id, event_id"):
        sessions["nothing"]
    with pytest.raises(TypeError, match="by the name of a column"):
        sessions[0]  # type: ignore[index]


def test_a_batch_is_read_by_place(second: Service, second_client: sideline.Client) -> None:
    ids = [session.id for _, session in second.season.sessions()[:3]]
    batch = second_client.stats([ids[0], "no-such", *ids[1:]], on_error="keep")
    assert [payload.request_id for payload in batch] == [batch[place].request_id for place in range(3)]
    assert batch[-1].table()["session_id"][0] == ids[-1]
    assert [payload.table()["session_id"][0] for payload in batch[1:]] == ids[1:]
    with pytest.raises(IndexError):
        batch[3]
    with pytest.raises(TypeError, match="by position"):
        batch["no-such"]  # type: ignore[call-overload]


def test_parquet_and_csv_hold_the_table(second: Service, second_client: sideline.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = second.season.sessions()[0][1].id
    table = second_client.possessions(session).table()
    table.to_parquet(tmp_path / "possessions.parquet")
    assert pl.read_parquet(tmp_path / "possessions.parquet").rows() == table.to_polars().rows()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyarrow.parquet", None)
        table.to_parquet(str(tmp_path / "by_polars.parquet"))
        assert pl.read_parquet(tmp_path / "by_polars.parquet").rows() == table.to_polars().rows()
        for name in ("polars", "pyarrow"):
            without.setitem(sys.modules, name, None)
        with pytest.raises(ModuleNotFoundError, match=r'pip install "sideline\[arrow\]"'):
            table.to_parquet(tmp_path / "never.parquet")
    table.to_csv(tmp_path / "possessions.csv")
    with (tmp_path / "possessions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, truth in zip(rows, table.to_dicts(), strict=True):
        assert row["session_id"] == session
        assert json.loads(row["player_ids"]) == truth["player_ids"]
        assert datetime.fromisoformat(row["start_timestamp"]) == truth["start_timestamp"]
        assert row["half_court"] == {True: "true", False: "false", None: ""}[truth["half_court"]]
    assert rows


def test_any_arrow_table_becomes_a_table() -> None:
    arrow = pa.table({"team_id": [1, 2], "name": ["ä", None]})
    table = sideline.Table.from_arrow(arrow, "teams")
    assert (table.name, table["name"]) == ("teams", ["ä", None])
    assert sideline.Table.from_arrow(pl.DataFrame({"a": [1]})).name == "table"
    assert sideline.Table.from_arrow(table).name == "teams"
    with pytest.raises(TypeError, match="not list"):
        sideline.Table.from_arrow([1])


def test_a_table_is_pickled_without_pyarrow(second: Service, second_client: sideline.Client, tmp_path: Path) -> None:
    session = second.season.sessions()[0][1].id
    payload = second_client.possessions(session)
    tables = [payload.table(name) for name in payload.tables] + [second_client.stats([session, session]).table("box_score")]
    tables += [sideline.Table.from_arrow(second_client.shots(session).to_arrow().slice(3, 4), "shots"), payload.table().head(0)]
    data = pickle.dumps([(table, table.to_dicts()) for table in tables])
    (tmp_path / "tables").write_bytes(data)
    code = f"""
import sys
sys.modules["pyarrow"] = sys.modules["polars"] = None
import pickle, sideline
tables = pickle.loads(open({str(tmp_path / "tables")!r}, "rb").read())
assert len(tables) == {len(tables)}
for table, rows in tables:
    assert table.to_dicts() == rows, table
    again = pickle.loads(pickle.dumps(table))
    assert again.to_dicts() == rows and again.schema == table.schema
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


COLUMNS = {
    "list": pa.array([[1, 2], None, []], pa.list_(pa.int8())),
    "large": pa.array(["a", None, "c"], pa.large_string()),
    "view": pa.array(["a", None, "a text of more than twelve bytes"], pa.string_view()),
    "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
    "words": pa.array(["a", "b", "a"]).dictionary_encode(),
    "decimal": pa.array([None, None, 1], pa.int64()).cast(pa.decimal128(30, 2)),
    "map": pa.array([[("a", 1.0)], None, []], pa.map_(pa.string(), pa.float64())),
    "null": pa.nulls(3),
    "bool": pa.array([True, None, False]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_any_type_are_pickled(kind: str) -> None:
    field = pa.field("x", COLUMNS[kind].type, metadata={"unit": "mm"})
    arrow = pa.table([COLUMNS[kind]], schema=pa.schema([field], metadata={"of": "the table"}))
    for part in (arrow, arrow.slice(1), arrow.slice(1, 1), arrow.slice(3)):
        roundtrip = pickle.loads(pickle.dumps(sideline.Table.from_arrow(part))).to_arrow()
        assert roundtrip.equals(part)
        assert roundtrip.schema.equals(part.schema, check_metadata=True)


def test_a_slice_is_pickled_without_the_rest() -> None:
    table = sideline.Table.from_arrow(pa.table({"x": np.arange(100_000), "y": ["text"] * 100_000}))
    assert len(pickle.dumps(table.head(3))) < 2_000 < 1_000_000 < len(pickle.dumps(table))


def test_a_damaged_pickle_raises() -> None:
    restore, (name, (schema, [batch])) = sideline.Table.from_arrow(pa.table({"x": ["abc", "d"]})).__reduce__()  # type: ignore[misc]
    count, nulls, buffers, [column] = batch
    length, valid, [offsets, texts], children = column
    assert restore(name, (schema, [(count, nulls, buffers, [(length, valid, [offsets, texts], children)])]))["x"] == ["abc", "d"]
    for invalid_column in [
        (length + 9, valid, [offsets, texts], children),
        (length, valid, [], children),
        (length, valid, [b"\xff" * 12, texts], children),
        None,
    ]:
        with pytest.raises(ValueError):
            restore(name, (schema, [(count, nulls, buffers, [] if invalid_column is None else [invalid_column])]))


@pytest.mark.parametrize("name", ["stats", "shots", "possessions", "stats_details"])
def test_a_games_id_in_place_of_a_sessions_is_reported(second: Service, second_client: sideline.Client, name: str) -> None:
    game = second.season.played[0].id
    before = len(second.requests)
    with pytest.raises(sideline.NotFound, match=rf"is the id of a game, not of a session: client\.{name}\(client\.game\('{game}'\)\)") as excinfo:
        getattr(second_client, name)(game)
    assert excinfo.value.status == 404
    assert "id of a game" in excinfo.value.advice  # type: ignore[attr-defined]
    assert len(second.requests) - before == 2


def test_an_unknown_id_is_looked_for_once_and_one_of_a_batch_not_at_all(second: Service, second_client: sideline.Client) -> None:
    before = len(second.requests)
    with pytest.raises(sideline.NotFound) as excinfo:
        second_client.stats("no-such")
    assert "id of a game" not in str(excinfo.value)
    assert len(second.requests) - before == 2
    second_client.stats([second.season.played[0].id], on_error="keep")
    assert len(second.requests) - before == 3
    with pytest.raises(sideline.NotFound):
        second_client.roster(999_999)
    assert len(second.requests) - before == 4


def test_an_error_of_the_lookup_leaves_the_original_error_unchanged(second: Service, second_client: sideline.Client) -> None:
    second.faults.add("game", status=500)
    with pytest.raises(sideline.NotFound) as excinfo:
        second_client.stats(second.season.played[0].id)
    second.faults.clear()
    assert "id of a game" not in str(excinfo.value)
    assert excinfo.value.__context__ is None or isinstance(excinfo.value.__context__, sideline.SidelineError)


def test_the_same_is_reported_awaited(second: Service) -> None:
    async def mistake() -> None:
        async with sideline.AsyncClient(**second.client_options()) as client:
            await client.stats(second.season.played[0].id)

    with pytest.raises(sideline.NotFound, match="id of a game"):
        asyncio.run(mistake())


def test_a_call_may_take_another_time_than_the_client_allows(second: Service, second_client: sideline.Client) -> None:
    session = second.season.sessions()[0][1].id
    second.faults.add("stats", delay=60.0)
    second.faults.add("teams", delay=60.0)
    with pytest.raises(sideline.RequestTimeout, match=r"0\.2 s"):
        second_client.stats(session, timeout=0.2)
    with pytest.raises(sideline.RequestTimeout, match="no data within the read timeout"):
        second_client.stats(session, timeout=sideline.Timeout(read=0.2))
    with pytest.raises(sideline.RequestTimeout):
        second_client.get("/v1/data/teams", timeout=0.2)
    with pytest.raises(sideline.RequestTimeout):
        second_client.find_team("any", timeout=0.2)
    batch = second_client.stats([session], timeout=0.2, on_error="keep")
    assert isinstance(batch.errors[session], sideline.RequestTimeout)
    second.faults.clear()
    assert batch.retry().complete, "the timeout is asked for again with it"
    hasty = sideline.Client(**second.client_options(), timeout=0.2, max_retries=0)
    second.faults.add("teams", delay=0.5)
    with hasty:
        with pytest.raises(sideline.RequestTimeout, match=r"no response within the total timeout of 0\.2 s"):
            hasty.teams()
        assert hasty.teams(timeout=sideline.Timeout()).status == 200
    second.faults.clear()


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), 1e300])
def test_a_timeout_that_can_never_be_right_is_refused(second_client: sideline.Client, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout is"):
        second_client.teams(timeout=timeout)


def test_a_timeout_of_another_type_is_refused(second_client: sideline.Client) -> None:
    with pytest.raises(TypeError, match="timeout is seconds, a timedelta or sideline.Timeout"):
        second_client.teams(timeout="5")  # type: ignore[arg-type]


def test_numpys_times_say_what_to_write_and_its_days_are_days(second: Service, second_client: sideline.Client) -> None:
    start = datetime.now(UTC) - timedelta(days=2)
    for moment, written in [
        (np.datetime64("2026-11-01T20:00:00.500"), "2026-11-01T20:00:00.5Z"),
        (np.datetime64("2026-11-01T20:00:00.000000000"), "2026-11-01T20:00:00Z"),
        (np.datetime64("2026-11-01T20"), "2026-11-01T20:00Z"),
    ]:
        with pytest.raises(ValueError, match=f'no time zone; where it is UTC write "{written}"'):
            second_client.schedule(moment)
        assert second_client.schedule(written).status == 200
    with pytest.raises(ValueError, match="names no day: NaT"):
        second_client.schedule(np.datetime64("NaT"))
    assert second_client.schedule(np.datetime64(start.date())).raw == second_client.schedule(start.date()).raw


def test_found_teams_go_where_team_ids_are_wanted(client: sideline.Client, service: sideline.Simulator, tmp_path: Path) -> None:
    [team] = client.find_team("mariners")["team_id"]
    team_table, days = client.find_team("mariners"), {"start": "2026-11-01", "end": "2026-11-03"}
    by_table, by_number = (client.plan("shots", team_ids=teams, **days).units.to_dicts() for teams in (team_table, [team]))
    assert by_table == by_number != []
    games = client.schedule("2026-11-01", "2026-11-03", team_id=team)
    assert client.plan("shots", game_ids=games).units.to_dicts() == client.plan("shots", game_ids=games.table()["game_id"]).units.to_dicts()
    archive = sideline.Archive(tmp_path / "season", client)
    archive.sync(game_ids=games, progress=False)
    assert archive.info().games == games.table().num_rows
    for invalid_ids in (games, client.teams().table(columns=["name"])):
        with pytest.raises(TypeError, match="team_id is one id, a list or column of ids, or a table with a column team_id"):
            archive.sync(team_ids=invalid_ids, **days)
