"""Lazy scans: the rows are those of the whole table, the requests only those that a query needs, as docs/scale.md says."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from needs import library
from service import Service, differences

import sideline

duckdb = library("duckdb")
pl = library("polars")

NOW = "2027-03-01T12:00:00Z"
RANGE = {"start": "2027-02-01", "end": "2027-03-02"}
DOCS = (Path(__file__).parent.parent / "docs" / "scale.md").read_text(encoding="utf-8")
LISTS = ("teams", "schedule", "team_events", "game")


@pytest.fixture(scope="module")
def second() -> Iterator[Service]:
    with Service(seed=3, now=NOW) as running:
        yield running


@pytest.fixture
def asking(second: Service) -> Iterator[sideline.Client]:
    second.requests.clear()
    with sideline.Client(**second.client_options(), max_retries=0) as client:
        yield client
    second.faults.clear()


@pytest.fixture(scope="module")
def all_rows(second: Service) -> pl.DataFrame:
    with sideline.Client(**second.client_options()) as client:
        return client.scan("stat_events", **RANGE).collect()


def names(second: Service) -> dict[str, Any]:
    """The names that the page's examples use."""
    game = second.season.games[0]
    return {
        "pl": pl,
        "game_id": game.id,
        "session_id": game.sessions[0].id,
        "other_id": second.season.games[1].sessions[0].id,
        "team_id": second.season.teams[0].id,
        "when": pl.lit(game.sessions[0].end).cast(pl.Datetime("ms", "UTC")),
    }


DOCUMENTED_QUERIES = re.findall(r"^\| `(frame.*?)` \| (\d+) \| (\d+) \|", DOCS.replace(r"\|", "&#124;"), re.M)


def test_the_page_counts_the_requests_of_each_kind_of_predicate() -> None:
    assert len(DOCUMENTED_QUERIES) >= 10
    assert "4 teams, 6 games and 2 practices with 19 sessions" in DOCS


@pytest.mark.parametrize(("query", "lists", "sessions"), DOCUMENTED_QUERIES)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_query_requests_what_the_page_says(
    second: Service, asking: sideline.Client, all_rows: pl.DataFrame, query: str, lists: str, sessions: str, engine: Literal["in-memory", "streaming"]
) -> None:
    variables, query = names(second), query.replace("&#124;", "|")
    actual = eval(query, {**variables, "frame": asking.scan("stat_events", **RANGE)}).collect(engine=engine)
    counts = second.requests.counts()
    list_count = sum(counts.pop(name, 0) for name in LISTS)
    assert (list_count, sum(counts.values())) == (int(lists), int(sessions))
    assert actual.equals(eval(query, {**variables, "frame": all_rows.lazy()}).collect())


@pytest.mark.parametrize("engine", ["in-memory", "streaming", "auto"])
def test_which_engine_stops_at_the_rows_of_head_after_a_filter(
    second: Service, asking: sideline.Client, engine: Literal["in-memory", "streaming", "auto"]
) -> None:
    asking.scan("stat_events", **RANGE).filter(pl.col("stat") == "PTS").head(1).collect(engine=engine)
    is_early = engine == "streaming" or (engine == "auto" and int(pl.__version__.partition(".")[0]) >= 2)
    assert (second.requests.counts()["stats_details"] < 19) is is_early


def test_a_scan_has_the_types_of_the_schemas_and_the_rows_of_the_truth(second: Service, asking: sideline.Client) -> None:
    for table in ("player_stats", "possessions", "shots"):
        second.requests.clear()
        frame = asking.scan(table, **RANGE)
        types = frame.collect_schema()
        assert len(second.requests) == 0
        assert types.names() == sideline.SCHEMAS[table].names
        actual = frame.collect()
        assert actual.schema == types == pl.Schema(sideline.SCHEMAS[table])
        truth = second.truth()[table]
        assert not differences(actual.to_dicts(), truth, columns=truth[0].keys())


def test_a_frame_plans_once_and_another_plans_again(second: Service, asking: sideline.Client) -> None:
    frame = asking.scan("shots", **RANGE)
    keys = ["session_id", "player_id"]
    joined_frame = frame.select(keys).join(frame.select(*keys, "points"), on=keys).collect()
    assert joined_frame.height >= frame.collect().height > 0
    assert second.requests.counts()["teams"] == 1
    asking.scan("shots", **RANGE).head(1).collect()
    assert second.requests.counts()["teams"] == 2


PREDICATES = [
    (pl.col("team_id") != 11) & (pl.col("value") > 1),
    pl.col("team_id").is_null() | (pl.col("team_id") == 13),
    pl.col("team_id").is_in([11, 15]) & pl.col("session_id").str.contains("[0-7]$"),
    pl.col("game_id").is_null(),
    pl.col("game_id").is_not_null() & ~pl.col("session_id").str.starts_with("a"),
    (pl.col("team_id") == 11) ^ (pl.col("stat") == "PTS"),
    pl.col("session_id") > pl.col("game_id"),
    pl.col("session_id") == pl.col("session_id").first(),
    pl.col("team_id").rank() > 100,
    pl.col("occurred_at") > pl.datetime(1990, 1, 1, time_unit="ms", time_zone="UTC"),
    pl.lit(True),
    pl.lit(False),
]


@pytest.mark.parametrize("number", range(len(PREDICATES)))
def test_a_predicate_only_narrows(asking: sideline.Client, all_rows: pl.DataFrame, number: int) -> None:
    predicate = PREDICATES[number]
    frame = asking.scan("stat_events", **RANGE)
    for query in (
        lambda frame: frame.filter(predicate),
        lambda frame: frame.head(40).filter(predicate),
        lambda frame: frame.filter(predicate).tail(3).select("value", "stat"),
        lambda frame: frame.filter(predicate).filter(pl.col("team_id") == 13).head(3),
    ):
        assert query(frame).collect().equals(query(all_rows.lazy()).collect())


def test_a_hole_raises_and_its_unit_is_named(second: Service, asking: sideline.Client) -> None:
    frame = asking.scan("shots", **RANGE)
    second.faults.add("shots", status=404, body={"status": 404, "message": "Invalid id"}, times=1)
    with pytest.raises(sideline.IncompleteError, match="1 missing.*session"):
        frame.collect()
    assert frame.collect().height == len(second.truth()["shots"])
    second.faults.add("team_events", status=500, times=1)
    with pytest.raises(sideline.IncompleteError, match="team_events"):
        asking.scan("shots", **RANGE).collect()


def test_the_teams_of_the_scan_choose_sessions_and_those_of_the_predicate_rows(second: Service, asking: sideline.Client) -> None:
    listed_team, other = (team.id for team in second.season.teams[:2])
    for frame in (
        asking.scan("shots", team_ids=[listed_team], **RANGE),
        asking.season("2026-27", team_ids=[listed_team]).scan("shots"),
    ):
        second.requests.clear()
        for team in (listed_team, other):
            truth = [row for row in second.truth(team_ids=[listed_team])["shots"] if row["team_id"] == team]
            assert truth
            assert not differences(frame.filter(team_id=team).collect().to_dicts(), truth, columns=truth[0].keys())
        assert {row.ids["team_id"] for row in second.requests.all("team_events")} == {str(listed_team)}


def test_duckdb_reads_it_by_its_name(second: Service, asking: sideline.Client) -> None:
    frame = asking.scan("shots", **RANGE)
    game = second.season.games[0].id
    second.requests.clear()
    [(count,)] = duckdb.sql(f"select count(*) from frame where game_id = '{game}'").fetchall()
    assert frame.collect_schema().names()[0] == "session_id"
    assert count == len(second.truth(game_ids=[game])["shots"])
    assert second.requests.counts()["shots"] == len(second.season.games[0].sessions)


@pytest.mark.parametrize("kind", ["client", "refreshed archive"])
def test_a_frame_pickles_without_its_secrets(second: Service, asking: sideline.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    archive = sideline.Archive(tmp_path / "season", asking)
    frame = asking.scan("shots", **RANGE) if kind == "client" else archive.scan("shots", refresh=True, **RANGE)
    rows = frame.collect()
    data = pickle.dumps(frame)
    assert second.secret.encode() not in data
    assert second.api_key.encode() not in data
    monkeypatch.setenv("SIDELINE_SECRET", second.secret)
    assert pickle.loads(data).collect().equals(rows)
    assert rows.height == len(second.truth()["shots"])
    assert pickle.loads(pickle.dumps(archive))


def test_a_scan_of_an_asynchronous_client_is_not_awaited(second: Service) -> None:
    client = sideline.AsyncClient(**second.client_options())
    assert client.scan("shots", **RANGE).collect().height == client.season(2026).scan("shots").collect().height > 0


@pytest.mark.parametrize(
    ("table", "options", "text"),
    [("box_score", RANGE, "player_stats"), ("teams", RANGE, r"client\.teams\(\)"), ("nope", RANGE, "no plan reads"), ("shots", {}, "start=")],
)
def test_an_impossible_scan_is_refused_before_a_request(second: Service, asking: sideline.Client, table: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        asking.scan(table, **options)
    assert len(second.requests) == 0
