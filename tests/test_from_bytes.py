"""Bodies in files: those of every operation are read like the responses themselves."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sideline

GOLDEN = Path(__file__).parent / "golden"
SESSION = uuid.UUID("14875c2b-8f32-4f4c-afa1-112f3ecad216")
IDS = {"session_id": "s-1", "game_id": "g-1", "team_id": 46}


def operations() -> list[str]:
    """Those that an unknown one names."""
    with pytest.raises(ValueError, match="it is one of") as excinfo:
        sideline.Payload.from_bytes("stat_details", b"{}")
    return str(excinfo.value).partition("one of ")[2].partition(";")[0].split(", ")


@pytest.mark.parametrize("operation", operations())
def test_each_operation_has_its_tables_whatever_the_body(operation: str) -> None:
    payload = sideline.Payload.from_bytes(operation, b"null", **IDS)
    assert (payload.operation, payload.to_dict(), payload.parts) == (operation, None, [payload])
    assert set(payload.tables) <= set(sideline.SCHEMAS)
    if payload.tables:
        # The body has no data of that operation: an empty table would claim that the service has none.
        with pytest.raises(sideline.DecodeError):
            payload.table()
    else:
        with pytest.raises(ValueError, match="no table"):
            payload.table()


def test_every_table_is_some_operations_or_a_streams_or_a_clients() -> None:
    of_operations = {name for operation in operations() for name in sideline.Payload.from_bytes(operation, b"null").tables}
    others = {name for name in sideline.SCHEMAS if name not in of_operations and not name.startswith("tracking_")}
    assert others == {"live_items", "live_leaders", "stat_updates", "drift", "coverage", "corrections", "violations", "game_box_score"}, (
        "what only streams bring, what a client met, what a batch is, what an archive saw change, what an audit found and what a whole game is"
    )


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_each_body_gives_rows_in_one_of_its_tables(path: Path) -> None:
    payload = sideline.Payload.from_bytes(path.stem, path.read_bytes(), **IDS)
    assert sum(payload.table(name).num_rows for name in payload.tables) > 0


def test_a_response_written_to_a_file_is_the_response(client: sideline.Client, game: dict[str, Any], session_id: str, tmp_path: Path) -> None:
    team, start = game["game_attributes"]["home_team_id"], game["results"][0]["started_at"]
    day = 86_400_000
    events = client.team_events(team, start - 10 * day, start + 10 * day)
    practice = next(event for event in events["events"] if event["is_practice_event"])
    of_session, of_game, of_team = {"session_id": session_id}, {"game_id": game["id"]}, {"team_id": team}
    for payload, ids in [
        (client.teams(), {}),
        (client.roster(team), of_team),
        (client.schedule(start - day, start + day), {}),
        (events, of_team),
        (client.team_game_stats(team, game_id=game["id"]), of_team | of_game),
        (client.game(game["id"]), of_game),
        (client.follow(practice["_self"]), of_team),
        (client.stats(session_id), of_session),
        (client.follow(game["results"][0]["_stats_details"]), of_session),
        (client.possessions(session_id), of_session),
        (client.shots(session_id), of_session),
        (client.locations(session_id, start, start + 10_000), of_session),
        (client.game_stats_details(game["id"]), of_game),
    ]:
        file = tmp_path / f"{payload.operation}.json"
        file.write_bytes(payload.raw)
        read = sideline.Payload.from_bytes(file.stem, file.read_bytes(), **ids)
        assert read.tables == payload.tables != []
        for name in payload.tables:
            assert read.table(name).to_arrow().equals(payload.table(name).to_arrow()), (payload.operation, name)
    assert (tmp_path / "practice.json").exists()


@pytest.mark.parametrize("team", [46, "46", np.int64(46), np.uint16(46), np.str_("46")], ids=lambda team: type(team).__name__)
def test_a_team_may_be_given_as_any_integer_or_text(team: Any) -> None:
    body = b'{"events": [{"id": "e", "results": [{"id": "s"}]}]}'
    for table in ("events", "sessions"):
        assert sideline.Payload.from_bytes("team_events", body, team_id=team).table(table).to_dicts()[0]["team_id"] == 46


@pytest.mark.parametrize("session", [SESSION, str(SESSION), np.str_(SESSION)], ids=lambda session: type(session).__name__)
def test_a_session_may_be_given_as_a_uuid(session: Any) -> None:
    body = b'{"teams": [{"id": 1, "possessions": [{}]}]}'
    payload = sideline.Payload.from_bytes("possessions", body, session_id=session)
    assert payload.table(columns=["session_id"]).to_dicts() == [{"session_id": str(SESSION)}]
    body = b'{"id": 1, "player_stats": [{"id": 2, "stats": {"FG": 1}}]}'
    game = sideline.Payload.from_bytes("team_game_stats", body, game_id=session).table(columns=["game_id", "stat"])
    assert game.to_dicts() == [{"game_id": str(SESSION), "stat": "FG"}]


def test_a_client_takes_a_uuid_too(client: sideline.Client, session_id: str) -> None:
    assert client.stats(uuid.UUID(session_id)).raw == client.stats(session_id).raw


@pytest.mark.parametrize("value", [46.0, True, b"46", [46], np.float64(46), object()], ids=lambda value: type(value).__name__)
def test_an_invalid_id_is_refused_by_its_name(value: Any) -> None:
    for name in IDS:
        with pytest.raises(TypeError, match=name):
            sideline.Payload.from_bytes("stats", b"{}", **{name: value})


def test_ids_are_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        sideline.Payload.from_bytes("stats", b"{}", "s-1")  # type: ignore[misc]
    with pytest.raises(TypeError, match="event_id"):
        sideline.Payload.from_bytes("stats", b"{}", event_id="s-1")  # type: ignore[call-arg]
