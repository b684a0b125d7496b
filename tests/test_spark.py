"""Spark: the data source as Spark calls it, and one local session. `make spark` has a cluster (tests/spark_cluster.py)."""

from __future__ import annotations

import pickle
import pkgutil
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from service import Service

import sideline

pytestmark = [
    pytest.mark.extended,
    needs("pyspark", "pyarrow"),
    pytest.mark.xdist_group("spark"),
    # PySpark's own: of pandas 3, and of sockets that its gateway leaves open.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

NOW = "2027-03-01T12:00:00Z"
RANGE = {"start": "2027-02-01", "end": "2027-03-02"}


@pytest.fixture(scope="module")
def second() -> Iterator[Service]:
    with Service(seed=3, now=NOW) as running:
        yield running


@pytest.fixture(scope="module")
def client(second: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**second.client_options()) as client:
        yield client


@pytest.fixture(autouse=True)
def environ(second: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in second.environ.items():
        monkeypatch.setenv(name, value)


def sort(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


def source(**options: str) -> Any:
    """The data source as Spark finds it, with options as Spark passes them."""
    from pyspark_sideline import DefaultSource

    return DefaultSource(options)


def rows(**options: str) -> list[dict[str, Any]]:
    """The results of a read's tasks: each part is pickled."""
    data_source = source(**options)
    reader = data_source.reader(data_source.schema())
    dicts = []
    for part in pickle.loads(pickle.dumps(reader.partitions())):
        for batch in pickle.loads(pickle.dumps(reader)).read(part):
            dicts += batch.to_pylist()
    return dicts


def test_spark_finds_the_data_source_by_its_name(client: sideline.Client) -> None:
    assert "pyspark_sideline" in {module.name for module in pkgutil.iter_modules()}
    assert source().name() == "sideline"
    assert "pushFilters" not in vars(type(source(table="shots").reader(source(table="shots").schema())))


@pytest.mark.parametrize("table", ["stat_events", "possessions", "possession_events"])
def test_the_parts_are_the_eager_rows(client: sideline.Client, table: str) -> None:
    [part] = client.plan(table, **RANGE).split(1)
    assert rows(table=table, parts="3", **RANGE) == part.read(client).to_dicts()


def test_a_schema_is_nullable_plain_and_commented() -> None:
    for table in ("player_stats", "stat_events", "possessions", "shots", "locations", "play_by_play", "ball_screens"):
        fields = source(table=table).schema().fields
        assert [field.name for field in fields] == sideline.SCHEMAS[table].names
        assert all(field.nullable and field.metadata["comment"] for field in fields)
    types = {field.name: (field.dataType.simpleString(), field.metadata["comment"]) for field in source(table="shots").schema()}
    assert types["status"][0] == "string"
    assert types["occurred_at"][0] == "timestamp"
    assert types["attributes"][0] == "array<string>"
    assert types["distance_cm"][1].endswith("[cm]")


def test_options_narrow_the_plan_and_limit_its_requests(second: Service, client: sideline.Client, tmp_path: Path) -> None:
    game = second.season.games[0]
    of_game = rows(table="shots", game_ids=game.id)
    assert of_game == [row for row in rows(table="shots", **RANGE) if row["game_id"] == game.id]
    of_teams = rows(table="shots", team_ids=f"{game.home_id}, {game.away_id}", **RANGE)
    assert {row["game_id"] for row in of_teams} >= {game.id}
    first = [row for row in of_game if row["session_id"] == game.sessions[0].id]
    assert rows(table="shots", session_ids=game.sessions[0].id) == [{**row, "game_id": None} for row in first]
    path = tmp_path / "plan.json"
    path.write_text(client.plan("shots", game_ids=[game.id]).to_json(), encoding="utf-8")
    assert rows(plan=str(path)) == of_game
    data_source = source(table="shots", parts="4", tasks="2", requests_per_second="40", max_concurrency="3", **RANGE)
    services = [share.value.plan.service for share in data_source.reader(data_source.schema()).partitions()]
    assert {(service["requests_per_second"], service["max_concurrency"]) for service in services} == {(20.0, 3)}
    assert rows(table="shots", start="1600000000000", end="1600000001000") == []


def test_an_archive_is_read_through(second: Service, client: sideline.Client, tmp_path: Path) -> None:
    root = str(tmp_path / "season")
    expected = rows(table="shots", **RANGE)
    assert expected
    assert sort(rows(table="shots", archive=root, **RANGE)) == sort(expected)
    second.requests.clear()
    # What is stored is not requested again, in this process or another.
    assert sort(rows(table="shots", archive=root, parts="3", **RANGE)) == sort(expected)
    game = second.season.games[0]
    of_game = [row for row in expected if row["game_id"] == game.id]
    assert sort(rows(table="shots", archive=root, game_ids=game.id, **RANGE)) == sort(of_game)
    session = game.sessions[0].id
    of_session = [row for row in of_game if row["session_id"] == session]
    assert sort(rows(table="shots", archive=root, session_ids=session, **RANGE)) == sort(of_session)
    assert len(second.requests) == 0
    # Tables whose rows belong to teams, which have numbers, are no different.
    archive = sideline.Archive(root, client)
    for name in ("teams", "players", "games"):
        count = len(rows(table=name, archive=root, parts="2"))
        assert count == archive.scan(name).collect().height > 0
    second.requests.clear()
    assert len(second.requests) == 0
    second.faults.add("shots", status=500, times=None)
    with pytest.raises(sideline.IncompleteError):
        rows(table="shots", archive=str(tmp_path / "other"), **RANGE)
    second.faults.clear()


def test_a_plan_without_units_is_read_as_spark_does() -> None:
    from pyspark.sql.datasource import InputPartition

    data_source = source(table="shots", start="2020-01-01", end="2020-01-02")
    reader = data_source.reader(data_source.schema())
    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "shots", "secret": "x"}, "SIDELINE_SECRET"),
        ({"table": "shots", "API_KEY": "x"}, "SIDELINE_SECRET"),
        ({"table": "shots", "accessToken": "x"}, "SIDELINE_SECRET"),
        ({"table": "shots", "tabel": "x"}, "there is no option tabel"),
        ({"table": "box_score"}, "player_stats"),
        ({"table": "players"}, "client.roster"),
        ({}, "the option table is missing"),
        ({"table": "shots", "parts": "0", **RANGE}, "whole number"),
        ({"table": "shots", "requests_per_second": "x", **RANGE}, "must be a number"),
        ({"table": "shots"}, "give one of start="),
        ({"table": "shots", "archive": "season", "plan": "plan.json"}, "archive and plan exclude each other"),
        ({"table": "shots", "start": "2027-02-01", "plan": "plan.json"}, "start and plan exclude each other"),
        ({"game_ids": "g1", "plan": "plan.json"}, "game_ids and plan exclude each other"),
        ({"table": "shots", "game_ids": "", **RANGE}, "game_ids is '', which names no id"),
        ({"table": "shots", "game_ids": " , ", "archive": "season", **RANGE}, "which names no id"),
        ({"table": "shots", "session_ids": "", "archive": "season", **RANGE}, "which names no id"),
        ({"table": "shots", "team_ids": "", "archive": "season", **RANGE}, "which names no id"),
    ],
)
def test_impossible_options_are_refused_with_what_to_write(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message) as excinfo:
        rows(**options)
    assert "'x'" not in str(excinfo.value) or "must be" in str(excinfo.value)


def test_a_schema_of_other_types_is_refused() -> None:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    data_source = source(table="shots", **RANGE)
    for name, kind in (("points", StringType()), ("nope", LongType())):
        with pytest.raises(ValueError, match=f"{name} as"):
            data_source.reader(StructType([StructField(name, kind)]))
    reader = data_source.reader(StructType([StructField("points", LongType())]))
    [batch, *_] = reader.read(reader.partitions()[0])
    assert batch.schema.names == ["points"]


@pytest.fixture(scope="module")
def spark(second: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("no Java")
    from pyspark.sql import SparkSession

    config = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
    }
    with pytest.MonkeyPatch.context() as patch:
        # The JVM's environment is that of its Python workers.
        for name, value in {**second.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}.items():
            patch.setenv(name, value)
        patch.delenv("SPARK_HOME", raising=False)
        builder = SparkSession.builder.master("local[2]")
        for name, value in config.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        gateway = session.sparkContext._gateway
        yield session
        session.stop()
        gateway.shutdown()
        if (process := getattr(gateway, "proc", None)) is not None:
            process.stdin.close()
            process.wait(60)


# A session starts within seconds, or minutes where others keep the machine busy.
@pytest.mark.timeout(900)
def test_a_frame_of_a_session_is_right_however_it_is_used(spark: Any, second: Service, client: sideline.Client) -> None:
    frame = spark.read.format("sideline").options(table="shots", parts="2", **RANGE).load()
    count = len(second.truth()["shots"])
    game = second.season.games[0]
    of_game = len(second.truth(game_ids=[game.id])["shots"])
    of_one_game = frame.filter(frame.game_id == game.id)
    assert (of_one_game.count(), of_one_game.union(frame).count(), frame.count()) == (of_game, count + of_game, count)

    plan = client.plan("stat_events", **RANGE)
    [part] = plan.split(1)
    eager = part.read(client).to_dicts()
    assert [row.asDict() for row in sideline.spark.read(spark, plan, parts=3).select("session_id", "player_id", "stat", "value").collect()] == [
        {name: row[name] for name in ("session_id", "player_id", "stat", "value")} for row in eager
    ]
    second.faults.add("stats_details", path=str(plan._units[0].session_id), status=404, body={"status": 404, "message": "Invalid id"})
    with pytest.raises(Exception, match=f"IncompleteBatch.*session {plan._units[0].session_id}"):
        sideline.spark.read(spark, plan, parts=1).count()
    bodies = sideline.spark.fetch_bodies(spark, plan, parts=2).persist()
    assert sorted(row["status"] for row in bodies.select("status").collect()) == [*["fetched"] * (len(plan) - 1), "missing"]
    second.faults.clear()
    second.requests.clear()
    occurrences = sideline.spark.decode(bodies, "stat_events")
    assert occurrences.count() == len([row for row in eager if row["session_id"] != plan._units[0].session_id])
    assert len(second.requests) == 0
    assert sideline.spark.read(spark, plan.only(game_ids=[])).count() == 0
