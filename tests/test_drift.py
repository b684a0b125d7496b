"""Unknown fields: warned of once, listed, or refused."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from service import Features, Service

import sideline

KNOWN_BODY = {"teams": [{"id": 46, "name": "Kansas Wheat"}]}
DRIFTED_BODY = {"teams": [{"id": 46, "mascot": None}, {"id": 47, "mascot": "Wu", "seats": {"deep": 1}}], "page": 1}
PATHS = ["teams[].mascot", "teams[].seats", "page"]


@pytest.fixture
def client(service: sideline.Simulator) -> Iterator[sideline.Client]:
    """A client that has not seen any drift yet."""
    with service.client() as client:
        yield client


@pytest.fixture
def send(service: sideline.Simulator) -> Callable[[Any], None]:
    def send(body: Any) -> None:
        service.faults.clear()
        service.faults.add("/v1/data/teams", status=200, body=json.dumps(body).encode())

    return send


def test_a_field_that_was_added_is_a_warning_once_and_a_row_always(client: sideline.Client, send: Callable[[Any], None]) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    send(DRIFTED_BODY)
    with pytest.warns(sideline.SchemaDriftWarning) as records:
        payload = client.teams()
    assert [str(record.message).partition(";")[0] for record in records] == [
        "teams: the service sent an unknown field: teams[].mascot (string)",
        "teams: the service sent an unknown field: teams[].seats (object)",
        "teams: the service sent an unknown field: page (number)",
    ]
    assert payload.to_dict() == DRIFTED_BODY
    assert payload.unknown_fields() == PATHS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client.teams()
        send(KNOWN_BODY)
        client.teams()
    rows = client.drift().to_dicts()
    assert [(row["operation"], row["path"], row["count"], row["type"]) for row in rows] == [
        ("teams", "teams[].mascot", 2, "string"),
        ("teams", "teams[].seats", 2, "object"),
        ("teams", "page", 2, "number"),
    ]
    assert all(before <= row["first_seen"] <= datetime.now(UTC) for row in rows)


def test_rows_that_were_renamed_are_reported_too(service: sideline.Simulator, client: sideline.Client) -> None:
    """Below the root; a root that is missing is an error."""
    service.faults.add("*/stats", status=200, body={"teams": [{"id": 1, "lines": []}]})
    with pytest.warns(sideline.SchemaDriftWarning) as warnings:
        assert client.stats("s-1").table().num_rows == 0
    assert "a response without teams[].player_stats[];" in str(warnings[1].message)
    assert [(row["path"], row["type"]) for row in client.drift().to_dicts()] == [
        ("teams[].lines", "array"),
        ("teams[].player_stats[] (missing)", None),
    ]


@pytest.mark.parametrize("word", ["made", "make", "true", "MADE", ""])
def test_an_unknown_result_of_a_shot_is_null_and_reported(word: str) -> None:
    first: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "shots": ("teams[].player_shots[].shots[].is_make", lambda body: body["teams"][0]["player_shots"][0]["shots"][0]),
        "game_shots": ("shots[].st", lambda body: body["shots"][0]),
    }
    features = Features(game_shots=True)
    with Service(seed=3, teams=2, games=1, possessions=4, features=features) as service, sideline.Client(**service.client_options()) as client:
        event = service.season.games[0]
        for operation, (path, shot_of) in first.items():

            def change(body: Any, path: str = path, shot_of: Callable[[Any], Any] = shot_of) -> Any:
                shot_of(body)[path.rpartition(".")[2]] = word
                return body

            service.faults.add(operation, change=change)
            with pytest.warns(
                sideline.SchemaDriftWarning, match=rf"sent a value that no column can hold: {re.escape(path)} \(neither MAKE nor MISS\); to_dict"
            ):
                payload = getattr(client, operation)(event.sessions[0].id if operation == "shots" else event.id)
            is_make = payload.table()["is_make"]
            assert None in is_make and len(set(is_make)) > 1
            assert payload.unknown_fields() == [f"{path} (neither MAKE nor MISS)"]
            assert (f"{path} (neither MAKE nor MISS)", "string") in [(row["path"], row["type"]) for row in client.drift().to_dicts()]


@pytest.mark.parametrize("as_sent", [int, str, float])
def test_times_in_seconds_are_reported(as_sent: type) -> None:
    """They are of January 1970 if they are taken for milliseconds."""

    def change(body: Any) -> Any:
        for team in body["teams"]:
            for player in team["player_shots"]:
                for shot in player["shots"]:
                    shot["occurred_at"] = as_sent(shot["occurred_at"] // 1000)
        return body

    with Service(seed=3, teams=2, games=1, possessions=4) as service, sideline.Client(**service.client_options()) as client:
        session = service.season.games[0].sessions[0]
        assert client.shots(session.id).unknown_fields() == []
        service.faults.add("shots", change=change)
        with pytest.warns(sideline.SchemaDriftWarning, match="sent a value that no column can hold: .*occurred_at \\(seconds, not milliseconds\\); to_dict"):
            payload = client.shots(session.id)
        assert payload.unknown_fields() == ["teams[].player_shots[].shots[].occurred_at (seconds, not milliseconds)"]
        assert payload.table()["occurred_at"][0].year == 1970


def test_a_number_that_is_not_whole_is_null_and_reported(service: sideline.Simulator, client: sideline.Client) -> None:
    line = {"id": 7, "version": 2.5, "stats": {"PTS": 2.5}}
    service.faults.add("*/stats", status=200, body={"teams": [{"id": 1, "player_stats": [line, {**line, "version": 3}]}]})
    with pytest.warns(sideline.SchemaDriftWarning, match="a number that is not whole where a table has integers: ") as warnings:
        payload = client.stats("s-1")
    assert len(warnings) == 1
    assert [(row["version"], row["value"]) for row in payload.table().to_dicts()] == [(None, 2.5), (3, 2.5)]
    assert payload.unknown_fields() == ["teams[].player_stats[].version (not a whole number)"]
    assert [(row["path"], row["type"]) for row in client.drift().to_dicts()] == [("teams[].player_stats[].version (not a whole number)", "number")]
    assert payload["teams"][0]["player_stats"][0]["version"] == 2.5
    batch = client.stats(["s-1"])
    assert batch.complete and batch.coverage.to_dicts()[0]["rows"] == 2
    service.faults.clear()
    service.faults.add("*/stats", status=200, body={"teams": [{"id": 1.5, "player_stats": [line]}]})
    with pytest.raises(sideline.DecodeError):
        client.stats("s-1").table()


def test_the_warning_points_at_the_line_of_the_call(service: sideline.Simulator, client: sideline.Client, send: Callable[[Any], None]) -> None:
    send(DRIFTED_BODY)
    with pytest.warns(sideline.SchemaDriftWarning) as warnings:
        client.teams()

    async def send_request() -> None:
        async with service.async_client() as other:
            await other.teams()
            await other.follow("/v1/data/teams")

    with pytest.warns(sideline.SchemaDriftWarning) as told_async:
        asyncio.run(send_request())
    assert {record.filename for record in [*warnings, *told_async]} == {__file__}
    assert len(told_async) == len(PATHS), "a link is the operation it leads to"


def test_strict_refuses_and_keeps_the_response(service: sideline.Simulator, send: Callable[[Any], None]) -> None:
    send(DRIFTED_BODY)
    with service.client(strict=True) as client:
        for _ in range(2):
            with pytest.raises(sideline.DecodeError, match="strict=True") as excinfo:
                client.teams()
        assert all(path in str(excinfo.value) for path in PATHS)
        assert excinfo.value.payload is not None
        assert excinfo.value.payload.to_dict() == DRIFTED_BODY
        assert json.dumps(DRIFTED_BODY)[excinfo.value.offset :].startswith("null")
        copy = pickle.loads(pickle.dumps(excinfo.value))
        assert copy.payload.to_dict() == DRIFTED_BODY
        assert client.drift().num_rows == len(PATHS)
        assert pickle.loads(pickle.dumps(client))._options["strict"]
        send(KNOWN_BODY)
        assert client.teams().status == 200


@pytest.mark.parametrize("operation", ["teams", "schedule", "team_events"])
def test_strict_refuses_a_list_of_a_plan_and_of_a_sync(operation: str, tmp_path: Path) -> None:
    with Service(seed=1, now="2027-03-01T12:00:00+00:00", teams=2, games=2) as second:
        second.faults.add(operation, change=lambda body: {**body, "page": 1})
        with sideline.Client(**second.client_options(), strict=True) as client:
            with pytest.raises(sideline.IncompleteError, match="unknown fields"):
                client.plan("shots", start="2026-11-01")
            report = sideline.Archive(tmp_path / "archive", client).sync(start="2026-11-01", tables=["games"], on_error="keep")
            assert {hole["operation"] for hole in report.holes} == {operation}


def test_a_nightly_script_finds_it_in_its_log(client: sideline.Client, send: Callable[[Any], None], caplog: pytest.LogCaptureFixture) -> None:
    send(DRIFTED_BODY)
    with caplog.at_level(logging.WARNING, "sideline"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.teams()
        client.teams()
    assert len([record for record in caplog.records if "unknown field" in record.getMessage()]) == len(PATHS)


def test_a_client_that_met_nothing_has_an_empty_table_of_the_same_columns(client: sideline.Client) -> None:
    client.teams()
    assert client.drift().num_rows == 0
    assert client.drift().column_names == sideline.SCHEMAS["drift"].names


@pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")
def test_a_fork_begins_its_own_list(client: sideline.Client, send: Callable[[Any], None]) -> None:
    send(DRIFTED_BODY)
    client.teams()
    child = os.fork()
    if child == 0:
        os._exit(client.drift().num_rows)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.drift().num_rows == len(PATHS)
