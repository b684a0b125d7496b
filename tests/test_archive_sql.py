"""Queries of an archive: what they return, and what they must not reach."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from escapes import ESCAPES
from service import Features, Service

import sideline
from sideline.archive import scope_of

pytest.importorskip("duckdb", reason="needs duckdb: pip install 'sideline[archive]'")

NOW = "2027-03-01T12:00:00Z"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sideline.Archive]:
    with sideline.Simulator(seed=7, teams=4, games=8, now=NOW) as service, service.client() as client:
        archive = sideline.Archive(tmp_path_factory.mktemp("archives") / "season", client)
        archive.sync(game_ids=[service.games[0]["event_id"]], tables=("shots", "players"), progress=False)
        yield archive


def test_the_rows_of_a_query_are_a_table(archive: sideline.Archive) -> None:
    shots = archive.scan("shots").collect()
    rows = archive.sql("select team_id, sum(points) as points, max(occurred_at) as last from shots group by team_id")
    assert rows.schema.names == ["team_id", "points", "last"]
    assert sum(rows["points"]) == shots["points"].sum()
    assert max(rows["last"]) == shots["occurred_at"].max()
    assert archive.sql("show tables").num_rows >= len(sideline.SCHEMAS) - 12
    assert archive.connect().sql("select count(*) from shots").fetchall() == [(shots.height,)]


def test_a_table_that_no_sync_requested_is_empty_with_a_warning(archive: sideline.Archive, recwarn: pytest.WarningsRecorder) -> None:
    text = r"has no rows of locations: no sync has requested them; sync\(\.\.\., tables=\['locations'\]\) does"
    for read in (
        lambda: archive.scan("locations").collect(),
        lambda: archive.to_arrow("locations"),
        lambda: archive.sql("select x from shots join Locations using (session_id)"),
    ):
        with pytest.warns(UserWarning, match=text) as warnings:
            assert len(read()) == 0
        assert [Path(warning.filename) for warning in warnings] == [Path(__file__)]
    archive.sql("select points as locations from shots")
    archive.connect().sql("select * from locations")
    assert not recwarn.list


def test_a_table_of_which_the_service_has_nothing_is_empty_without_a_warning(tmp_path: Path) -> None:
    with sideline.Simulator(seed=7, teams=4, games=8, now=NOW) as service, service.client() as client:
        service.faults.add("*/ballscreens", status=404)
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(game_ids=[service.games[0]["event_id"]], tables=("shots", "ball_screens"), progress=False)
    assert len(archive.scan("ball_screens").collect()) == len(archive.sql("select * from ball_screens")) == 0


def test_a_map_is_the_same_in_each_way_to_read_it(tmp_path: Path) -> None:
    with Service(seed=3, now=NOW, features=Features(play_by_play=True)) as service, sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(game_ids=[service.season.games[0].id], tables="play_by_play", progress=False)
    expected = archive.to_arrow("play_by_play").select(["event_id", "stats"]).to_pylist(maps_as_pydicts="strict")
    assert any(row["stats"] for row in expected)
    rows = archive.sql("select event_id, stats from play_by_play")
    assert rows.to_dicts() == expected
    assert rows.to_polars().schema["stats"] == archive.scan("play_by_play").collect_schema()["stats"]


FORMS: dict[str, Any] = {
    "1::tinyint": 1,
    "sum(1)": 1,
    "1.5::decimal(10, 3)": 1.5,
    "'x'::blob": b"x",
    "timestamp '2026-11-01 10:00:00.123456'": datetime(2026, 11, 1, 10, 0, 0, 123_000, tzinfo=UTC),
    "timestamptz '2026-11-01 10:00:00+02'": datetime(2026, 11, 1, 8, tzinfo=UTC),
    "timestamp_ns '2026-11-01'": datetime(2026, 11, 1, tzinfo=UTC),
    "date '2026-11-01'": "2026-11-01",
    "time '10:00'": "10:00:00",
    "interval 3 days": "3 days",
    "{'a': 1}": "{'a': 1}",
    "map {'a': 1}": "{a=1}",
    "map {'a': 1.5::double}": {"a": 1.5},
    "[1::hugeint]": [1],
    "[[date '2026-11-01']]": [["2026-11-01"]],
    "[timestamp '2026-11-01']": ["2026-11-01 00:00:00"],
    "'a'::enum('a', 'b')": "a",
    "'101'::bit": "101",
    "null": None,
}


@pytest.mark.parametrize("expression", FORMS)
def test_every_type_has_a_python_form(expression: str, archive: sideline.Archive) -> None:
    rows = archive.sql(f"select {expression} as value")
    assert rows["value"] == [FORMS[expression]]
    assert "value" in str(rows)


@pytest.mark.parametrize(
    ("query", "limit", "option"),
    [
        ("select * from range(1000000000)", {"max_rows": 10}, "max_rows="),
        ("select count(*) from range(100000000000) a, range(1000) b", {"timeout": 0.3}, "timeout="),
        ("select count(*) from range(100000000000) a, range(1000) b", {"timeout": 0}, "timeout="),
        ("select list(range) from range(100000000)", {"memory_limit": "50MB"}, "memory_limit="),
    ],
)
@pytest.mark.timeout(60)
def test_a_limit_is_named(query: str, limit: dict[str, Any], option: str, archive: sideline.Archive) -> None:
    with pytest.raises(sideline.QueryError, match=option):
        archive.sql(query, **limit)
    assert archive.sql("from range(10)", max_rows=10).num_rows == 10


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.timeout(60)
def test_an_interrupted_query_raises_what_an_interrupt_raises(archive: sideline.Archive) -> None:
    archive.sql("from range(10)")  # so that the query begins at once
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        archive.sql("select count(*) from range(100000000000) a, range(1000) b")
    assert archive.sql("from range(10)").num_rows == 10


@pytest.mark.parametrize("query", ESCAPES)
def test_a_query_reaches_nothing_but_the_archive(query: str, archive: sideline.Archive, tmp_path: Path) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("a,b\n1,2\n", encoding="utf-8")
    python_variable = archive.scan("shots").collect()
    with pytest.raises(sideline.QueryError):
        archive.sql(query.format(secret=secret, out=out, folder=tmp_path))
    assert not out.exists()
    assert python_variable.height == archive.sql("from shots").num_rows


SCOPES: dict[str, Any] = {
    "from shots": {"shots": None},
    "from SHOTS where GAME_ID = 'a'": {"shots": {"a"}},
    "from shots where 'a' = game_id and points = 2": {"shots": {"a"}},
    "from shots where game_id in ('a', 'b')": {"shots": {"a", "b"}},
    "from shots where game_id in ('a', 'b') and game_id in ('b', 'c')": {"shots": {"b"}},
    "from shots where game_id = 'a' or points = 2": {"shots": None},
    "from shots where not game_id = 'a'": {"shots": None},
    "from shots where game_id <> 'a'": {"shots": None},
    "from shots where game_id in ('a', upper('b'))": {"shots": None},
    "from shots where game_id = (select max(game_id) from games)": {"shots": None, "games": None},
    "from shots where upper(game_id) = 'A'": {"shots": None},
    "select count(*) filter (game_id = 'a') from shots": {"shots": None},
    "select game_id, count(*) as n from shots group by game_id having game_id = 'a'": {"shots": None},
    "from shots s join games g using (game_id) where s.game_id = 'a'": {"shots": {"a"}, "games": {"a"}},
    "from shots s join games g on s.game_id = g.game_id where g.game_id = 'a'": {"shots": {"a"}, "games": {"a"}},
    "from shots s left join games g on s.game_id = g.game_id where g.game_id = 'a'": {"shots": {"a"}, "games": {"a"}},
    "from shots s left join games g on s.game_id = g.game_id and g.game_id = 'a'": {"shots": None, "games": None},
    "from shots s full join games g using (game_id) where game_id = 'a'": {"shots": {"a"}, "games": {"a"}},
    "from shots s, games g where s.game_id = 'a'": {"shots": {"a"}, "games": None},
    "from shots s, games g where s.game_id = 'a' and g.game_id = s.game_id": {"shots": {"a"}, "games": {"a"}},
    "from shots s, shots t where s.game_id = 'a'": {"shots": None},
    "from shots s, shots t where s.game_id = 'a' and t.game_id = 'b'": {"shots": {"a", "b"}},
    "from shots where game_id = 'a' union all from shots where game_id = 'b'": {"shots": {"a", "b"}},
    "from (from shots where game_id = 'a') where game_id = 'b'": {"shots": {"a"}},
    "from (from shots) where game_id = 'a'": {"shots": None},
    "with s as (from shots where game_id = 'a') from s, games g where g.game_id = s.game_id": {"shots": {"a"}, "games": None},
    "from games g where exists (from shots s where s.game_id = g.game_id) and g.game_id = 'a'": {"games": {"a"}, "shots": None},
    "from games where game_id = 'a' and game_id in (select game_id from shots where points = 2)": {"games": {"a"}, "shots": None},
    "from shots s anti join games g on s.points = g.home_team_id where game_id = 'a'": {"shots": {"a"}, "games": None},
    "from shots s semi join games g on s.points = g.home_team_id where game_id = 'a'": {"shots": {"a"}, "games": None},
    "from shots s anti join games g using (game_id) where game_id = 'a'": {"shots": {"a"}, "games": {"a"}},
    "from shots as s(x), games where game_id = 'a'": {"shots": None, "games": {"a"}},
    "from shots as s(x) where x = 'a'": {"shots": None},
    "from shots s join shots t using (game_id) join games g on g.home_team_id > 0 where game_id = 'a'": {"shots": {"a"}, "games": None},
    "from games g semi join shots s on s.points = 3 join games h using (game_id) where h.game_id = 'a'": {"games": {"a"}, "shots": None},
    "from shots s natural join shots t cross join games g where game_id = 'a'": {"shots": None, "games": None},
    "select 1": {},
}


@pytest.mark.parametrize("query", SCOPES)
def test_the_rows_of_other_games_do_not_matter_to_a_narrowed_query(query: str) -> None:
    """The scope is checked by its meaning: without the rows of other games the result is the same."""
    import duckdb

    scope = scope_of(query)
    assert {table: None if ids is None else set(ids) for table, ids in scope.items()} == SCOPES[query]

    def run(*, is_narrow: bool) -> list[Any]:
        with duckdb.connect() as connection:
            connection.execute("create table shots as select * from (values ('a', 2), ('a', 3), ('b', 2), ('c', 3), (null, 2)) t(game_id, points)")
            connection.execute("create table games as select * from (values ('a', 1), ('b', 2), ('c', 3)) t(game_id, home_team_id)")
            for table, ids in scope.items():
                if is_narrow and ids is not None:
                    connection.execute(f"delete from {table} where game_id is null or game_id not in {(*ids, '')}")
            return sorted(connection.sql(query).fetchall(), key=str)

    assert run(is_narrow=True) == run(is_narrow=False)


@pytest.mark.parametrize("query", ["from query('from shots')", "from query_table('shots')", "from (select 1) where exists (from query('from shots'))"])
def test_a_query_of_computed_names_may_read_every_table(query: str) -> None:
    assert scope_of(query).keys() >= {"shots", "locations", "raw"}


def test_a_mistake_in_a_query_is_explained(archive: sideline.Archive) -> None:
    with pytest.raises(sideline.QueryError, match="Did you mean"):
        archive.sql("select * from shotz")
    with pytest.raises(ValueError, match="memory_limit='lots' is not a size; write '1GB', for example"):
        archive.sql("select 1", memory_limit="lots")


def test_a_folder_is_read_without_a_file_system_of_python(archive: sideline.Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of Arrow that frees a buffer of Python after the interpreter has ended aborts the process."""
    from deltalake.fs import DeltaStorageHandler

    monkeypatch.setattr(DeltaStorageHandler, "from_table", lambda *_: pytest.fail("read by deltalake"))
    assert archive.to_arrow("shots").num_rows == archive.scan("shots").collect().height > 0
    assert archive.connect().execute("select count(*) from shots").fetchall() == [(archive.to_arrow("shots").num_rows,)]
    assert archive.audit().num_rows == 0
