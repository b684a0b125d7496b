"""Queries of an archive: what they return, and what they must not reach."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import sideline
from escapes import ESCAPES

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
        ("select list(range) from range(100000000)", {"memory_limit": "50MB"}, "memory_limit="),
    ],
)
@pytest.mark.timeout(60)
def test_a_limit_is_named(query: str, limit: dict[str, Any], option: str, archive: sideline.Archive) -> None:
    with pytest.raises(sideline.QueryError, match=option):
        archive.sql(query, **limit)
    assert archive.sql("from range(10)", max_rows=10).num_rows == 10


@pytest.mark.parametrize("query", ESCAPES)
def test_a_query_reaches_nothing_but_the_archive(query: str, archive: sideline.Archive, tmp_path: Path) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("a,b\n1,2\n", encoding="utf-8")
    python_variable = archive.scan("shots").collect()
    with pytest.raises(sideline.QueryError):
        archive.sql(query.format(secret=secret, out=out, folder=tmp_path))
    assert not out.exists()
    assert python_variable.height == archive.sql("from shots").num_rows


def test_a_mistake_in_a_query_is_explained(archive: sideline.Archive) -> None:
    with pytest.raises(sideline.QueryError, match="Did you mean"):
        archive.sql("select * from shotz")
    with pytest.raises(ValueError, match="memory_limit='lots' is no size; write for example '1GB'"):
        archive.sql("select 1", memory_limit="lots")
