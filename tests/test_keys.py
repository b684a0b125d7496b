"""Every table has the keys known from the request, or from its source."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

import pytest
from independent import as_json, server
from needs import library

import sideline

pl = library("polars")

OF_A_SESSION = ["stats", "stats_details", "possessions", "shots"]


def values(payload: Any, column: str) -> dict[str, set[Any]]:
    """The values of a column in each table."""
    return {name: {row[column] for row in payload.table(name).to_dicts()} for name in payload.tables}


@pytest.mark.parametrize("operation", OF_A_SESSION)
def test_a_session_s_tables_have_the_game_that_the_call_names(client: sideline.Client, session_id: str, operation: str) -> None:
    payload = getattr(client, operation)(session_id, game_id="g-1")
    assert set(map(frozenset, values(payload, "game_id").values())) == {frozenset({"g-1"})}
    assert set(map(frozenset, values(payload, "session_id").values())) == {frozenset({session_id})}
    assert "g-1" not in payload.url
    for other in (pickle.loads(pickle.dumps(payload)), sideline.Payload.from_bytes(operation, payload.raw, session_id=session_id, game_id="g-1")):
        assert all(other.table(name).to_dicts() == payload.table(name).to_dicts() for name in payload.tables)
    assert all(values == {None} for values in values_of_none(client, operation, session_id))


def values_of_none(client: sideline.Client, operation: str, session_id: str) -> list[set[Any]]:
    return list(values(getattr(client, operation)(session_id), "game_id").values())


def test_locations_have_it_too(client: sideline.Client, game: dict[str, Any], session_id: str) -> None:
    start = game["results"][0]["started_at"]
    locations = client.locations(session_id, start, start + 2_000, game_id=game["id"])
    assert values(locations, "game_id") == {"locations": {game["id"]}}
    assert locations.table().num_rows > 0


@pytest.mark.parametrize("operation", OF_A_SESSION)
def test_a_batch_of_a_game_knows_sessions_and_game(client: sideline.Client, game: dict[str, Any], operation: str) -> None:
    sessions = [result["id"] for result in game["results"]]
    payload = client.game(game["id"])
    for source in (payload, client.game([game["id"]]), payload.table("sessions")):
        batch = getattr(client, operation)(source)
        assert batch.ids == sessions
        assert {row["game_id"] for row in batch.coverage.to_dicts()} == {game["id"]}
        assert values(batch, "game_id") == {name: {game["id"]} for name in batch.tables}


def test_many_sessions_have_one_game_or_one_each(client: sideline.Client, service: sideline.Simulator) -> None:
    games = [game["event_id"] for game in service.games[:2]]
    rows = client.game(games).table("sessions").to_dicts()
    sessions, of_each = [row["session_id"] for row in rows], [row["game_id"] for row in rows]
    batch = client.stats(sessions, game_id=pl.Series(of_each))
    assert dict(batch.to_polars().select("session_id", "game_id").unique().iter_rows()) == dict(zip(sessions, of_each, strict=True))
    assert {row["game_id"] for row in client.stats(sessions, game_id="g").table().to_dicts()} == {"g"}
    with pytest.raises(ValueError, match="game_id has 1 ids for"):
        client.stats(sessions, game_id=["g"])
    with pytest.raises(TypeError, match="game_id"):
        client.stats(sessions[0], game_id=["g"])


def test_retry_and_pickle_keep_the_game_of_each(service: sideline.Simulator, client: sideline.Client) -> None:
    games = [game["event_id"] for game in service.games[:2]]
    with service.client(max_retries=0) as other_client:
        source = other_client.game(games)
        service.faults.add(f"*/{source.table('sessions').to_dicts()[-1]['session_id']}/stats", status=503)
        batch = other_client.stats(source, on_error="keep")
        assert batch.counts["failed"] == 1
        service.faults.clear()
        for retried_batch in (batch.retry(), pickle.loads(pickle.dumps(batch)).retry(client=client)):
            assert retried_batch.complete
            assert retried_batch.table().to_dicts() == client.stats(source).table().to_dicts()
            assert {row["game_id"] for row in retried_batch.table().to_dicts()} == set(games)


def test_a_coroutine_takes_the_same(service: sideline.Simulator, game: dict[str, Any]) -> None:
    async def stats() -> Any:
        async with service.async_client() as client:
            return await client.stats(await client.game(game["id"]))

    assert {row["game_id"] for row in asyncio.run(stats()).table().to_dicts()} == {game["id"]}


def test_other_operations_take_their_ids_from_tables_too(client: sideline.Client) -> None:
    teams = client.teams()
    assert client.roster(teams).ids == [row["team_id"] for row in teams.table().to_dicts()]
    with pytest.raises(TypeError, match="session_id"):
        client.stats(teams)


@pytest.mark.parametrize("operation", ["game_stats_details", "game_shots", "play_by_play", "ball_screens", "videos", "catch_up"])
def test_a_game_s_tables_have_the_game(client: sideline.Client, game: dict[str, Any], operation: str) -> None:
    for name, ids in values(getattr(client, operation)(game["id"]), "game_id").items():
        assert ids == {game["id"]}, name


def test_rows_are_found_by_the_game_that_was_requested() -> None:
    """A row may name another: the service's ids of one game differ from place to place."""
    bodies: dict[str, Any] = {
        "details": {"details": [{"gameId": "other", "eventId": "e", "sessionId": "s"}]},
        "shots": {"shots": [{"gid": "other", "sid": "s", "st": "MISS"}]},
        "ballscreens": {"ballscreens": [{"gameId": "other", "eventId": "e", "sessionId": "s"}]},
        "g": {"id": "other", "is_game_event": True, "results": [{"id": "s"}]},
    }
    with server(lambda request: as_json(bodies[request.target.rsplit("/", 1)[1]])) as running:
        with sideline.Client(username="a", secret="b", base_url=running.base_url) as client:
            for payload in (client.play_by_play("g"), client.game_shots("g"), client.ball_screens("g"), client.game("g")):
                rows = payload.table().to_dicts()
                assert [(row["game_id"], row["session_id"]) for row in rows] == [("g", "s")], payload.operation
                assert "other" in json.dumps(payload.to_dict())
    # Without a request the body is all there is.
    payload_without_id = sideline.Payload.from_bytes("play_by_play", json.dumps(bodies["details"]).encode())
    assert payload_without_id.table().to_dicts()[0]["game_id"] == "other"


def test_an_id_that_cannot_be_sent_fails_alone(client: sideline.Client, session_id: str) -> None:
    invalid_ids: list[Any] = ["a/b", "", None, 2.5, float("nan"), [1], {"x": 1}, b"raw", 1 << 70, "é" * 100_000]
    batch = client.stats([session_id, *invalid_ids, session_id], on_error="keep")
    assert batch.counts == {"fetched": 2, "empty": 0, "forbidden": 0, "missing": 0, "failed": len(invalid_ids)}
    rows = batch.coverage.to_dicts()
    assert [row["status"] for row in rows] == ["fetched", *["failed"] * len(invalid_ids), "fetched"]
    assert all(row["attempts"] == 0 and len(row["error"]) < 500 for row in rows[1:-1])
    assert rows[1]["error"].startswith('session_id[1]: session_id "a/b" is not an id')
    assert rows[1]["unit"] == "stats/a/b"
    assert all(isinstance(error, ValueError) for error in batch.errors.values())
    with pytest.raises(sideline.IncompleteBatch, match="10 of 12 units") as excinfo:
        client.stats([session_id, *invalid_ids, session_id])
    assert len(excinfo.value.batch) == 2
    retried_batch = batch.retry(on_error="keep")
    assert retried_batch.counts == batch.counts
    games = client.stats([session_id, session_id], game_id=["g", "g/"], on_error="keep")
    assert [row["status"] for row in games.coverage.to_dicts()] == ["fetched", "failed"]
