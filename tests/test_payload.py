"""One response: its dict, its bytes and its metadata."""

from __future__ import annotations

import json
import pickle
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from needs import library

import sideline

pa = library("pyarrow")

GOLDEN = Path(__file__).parent / "golden"
BODY = b'{"teams": [{"id": 46, "name": "Kansas Wheat", "new": {"deep": [1.5, null, true]}}]}'


@pytest.fixture
def payload() -> sideline.Payload:
    return sideline.Payload.from_bytes("teams", BODY)


def test_a_payload_has_the_status_headers_and_times_of_its_response(client: sideline.Client, service: sideline.Simulator) -> None:
    before = datetime.now(UTC)
    payload = client.teams()
    assert payload.status == 200
    assert payload.url == f"{service.base_url}/v1/data/teams"
    assert payload.headers["Content-Type"] == payload.headers["content-type"] == "application/json"
    assert "DATE" in payload.headers
    assert dict(payload.headers)["content-length"] == str(len(payload.raw))
    assert payload.headers.get("x-none") is None
    assert payload.request_id == payload.headers["X-Request-Id"]
    assert timedelta(0) < payload.elapsed < timedelta(seconds=10)
    assert before - timedelta(seconds=1) < payload.fetched_at < datetime.now(UTC) + timedelta(seconds=1)
    assert payload.parts == [payload]
    assert json.loads(payload.raw) == payload.to_dict()


def test_a_body_from_a_file_has_no_response_around_it(payload: sideline.Payload) -> None:
    assert (payload.status, payload.url, payload.request_id, payload.elapsed, payload.fetched_at) == (None,) * 5
    assert dict(payload.headers) == {}
    assert payload.raw == BODY
    assert payload.tables == ["teams"]
    assert payload.parts == [payload]


def test_a_payload_is_indexed_like_its_dict(payload: sideline.Payload) -> None:
    body = json.loads(BODY)
    assert payload["teams"] == body["teams"]
    assert len(payload) == 1
    assert list(payload) == list(payload.keys()) == ["teams"]
    assert "teams" in payload
    assert "games" not in payload
    assert payload.get("games", 1) == 1
    assert dict(payload) == dict(payload.items()) == body
    assert list(payload.values()) == [body["teams"]]
    with pytest.raises(KeyError, match="games"):
        payload["games"]


def test_an_array_is_indexed_like_its_list() -> None:
    payload = sideline.Payload.from_bytes("locations", b'[{"locations": []}, {"locations": []}]', session_id="s")
    assert len(payload) == 2
    assert payload[-1] == {"locations": []}
    assert list(payload) == payload.to_dict()


def test_a_response_without_content_is_still_true() -> None:
    assert sideline.Payload.from_bytes("locations", b"[]", session_id="s")


def test_each_dict_is_the_callers_own(payload: sideline.Payload) -> None:
    payload.to_dict()["teams"].clear()
    assert payload.to_dict() == json.loads(BODY)
    assert payload["teams"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_body_may_be_any_bytes(kind: type) -> None:
    assert sideline.Payload.from_bytes("teams", kind(BODY)).raw == BODY


def test_a_body_that_is_text_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match='"rb"'):
        sideline.Payload.from_bytes("teams", BODY.decode())


def test_an_unknown_operation_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="stats_details"):
        sideline.Payload.from_bytes("stat_details", BODY)


def test_numbers_and_texts_are_read_as_python_reads_them() -> None:
    body = '{"big": 123456789012345678901234567890, "e": 1e2, "minus": -0.0, "text": "\\u00e9\\ud83c\\udfc0 ⚽"}'
    assert sideline.Payload.from_bytes("get", body.encode()).to_dict() == json.loads(body)


@pytest.mark.parametrize("body", [b"", b'{"a": ', b'{"a": 01}', b"{'a': 1}", b'{"a": NaN}', b'{"a": 1} x', b'"\xff"'])
def test_invalid_json_is_a_decode_error(body: bytes) -> None:
    payload = sideline.Payload.from_bytes("teams", body)
    for read in (payload.to_dict, payload.keys, lambda: len(payload)):
        with pytest.raises(sideline.DecodeError) as excinfo:
            read()
        assert 0 <= excinfo.value.offset <= len(body)
        assert excinfo.value.path.startswith("$")


def test_a_decode_error_of_the_dict_names_the_place() -> None:
    body = b'{"teams": [{"id": 46}, {"id": nul}]}'
    with pytest.raises(sideline.DecodeError) as excinfo:
        sideline.Payload.from_bytes("teams", body).to_dict()
    assert excinfo.value.path == "$.teams[1].id"
    assert str(excinfo.value.offset) in str(excinfo.value)


def test_a_byte_order_mark_is_no_content() -> None:
    payload = sideline.Payload.from_bytes("teams", b"\xef\xbb\xbf" + BODY)
    assert payload.to_dict() == json.loads(BODY)
    assert payload.table().num_rows == 1
    with pytest.raises(sideline.DecodeError) as excinfo:
        sideline.Payload.from_bytes("teams", b'\xef\xbb\xbf{"a": x}').to_dict()
    assert excinfo.value.offset == 9


def test_an_operation_without_tables_names_to_dict(client: sideline.Client) -> None:
    payload = client.broadcast_teams()
    assert payload.tables == []
    for read in (payload.table, payload.to_arrow, payload.to_polars, payload.to_pandas, payload.unknown_fields):
        with pytest.raises(ValueError, match=r"to_dict\(\)"):
            read()


def test_an_unknown_table_or_column_names_those_there_are(payload: sideline.Payload) -> None:
    with pytest.raises(ValueError, match="teams"):
        payload.table("players")
    with pytest.raises(ValueError, match="conference_name"):
        payload.table(columns=["conference"])


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_all_tables_are_those_that_are_read_one_by_one(path: Path) -> None:
    ids = {"session_id": "s-1", "game_id": "g-1", "team_id": "7"}
    payload = sideline.Payload.from_bytes(path.stem, path.read_bytes(), **ids)
    if not payload.tables:
        with pytest.raises(ValueError, match=r"to_dict\(\)"):
            payload.all_tables()
        return
    tables = payload.all_tables()
    assert list(tables) == payload.tables
    for name, table in tables.items():
        single = sideline.Payload.from_bytes(path.stem, path.read_bytes(), **ids).table(name)
        assert pa.table(table).equals(pa.table(single), check_metadata=True)
        assert (table.name, table.num_rows > 0) == (name, True)


def test_a_fault_in_one_table_is_an_error_of_all_tables_and_of_it_alone() -> None:
    body = (GOLDEN / "possessions.json").read_bytes()
    damaged_body = body.replace(b'"player_id": 461', b'"player_id": "none"', 1)
    assert damaged_body != body
    payload = sideline.Payload.from_bytes("possessions", damaged_body, session_id="s-1")
    with pytest.raises(sideline.DecodeError) as together:
        payload.all_tables()
    with pytest.raises(sideline.DecodeError) as excinfo:
        payload.table("possession_events")
    assert str(together.value) == str(excinfo.value)
    assert payload.table("possessions").num_rows and payload.table("possession_players").num_rows


def test_unknown_fields_are_reported(payload: sideline.Payload) -> None:
    assert payload.unknown_fields() == ["teams[].new"]


def test_the_repr_and_the_html_describe_the_payload(client: sideline.Client, payload: sideline.Payload) -> None:
    assert repr(payload) == f"<sideline.Payload teams; {len(BODY)} bytes; tables: teams>"
    assert "200 http://127.0.0.1" in repr(client.teams())
    html = client.teams()._repr_html_()
    assert "<b>teams</b>" in html
    assert "127.0.0.1" in html
    assert re.search(r"fetched</th><td[^>]*>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, in \d+\.\d{3} s<", html)
    assert "unknown fields" not in html


def test_the_html_has_the_number_of_unknown_fields(service: sideline.Simulator) -> None:
    service.faults.add("*/teams", status=200, body={"teams": [{"id": 1, "new": 1, "newer": 2}]}, times=1)
    with service.client() as client, pytest.warns(sideline.SchemaDriftWarning):
        payload = client.teams()
    assert re.search(r"unknown fields</th><td[^>]*>2<", payload._repr_html_())


def test_a_repeated_header_has_both_values(service: sideline.Simulator) -> None:
    service.faults.add("/v1/data/teams", headers=[("X-Odd", "1"), ("x-odd", "2"), ("X-Request-Id", ""), ("X-Request-Id", "b"), ("X-Request-Id", "c")])
    with service.client() as client:
        payload = client.teams()
    assert (payload.headers["x-ODD"], payload.headers["x-request-id"], payload.request_id) == ("1, 2", ", b, c", "b")
    assert list(payload.headers).count("x-odd") == 1
    assert "repeated header" in (type(payload).headers.__doc__ or "")


def test_a_response_travels_by_pickle(service: sideline.Simulator, client: sideline.Client) -> None:
    team = service.teams[0]["id"]
    for payload in (
        client.team_events(team, "2026-10-01", "2026-11-01"),
        client.team_events(team, "2025-10-01", "2026-11-01"),
        sideline.Payload.from_bytes("stats", b'{"teams": []}', session_id="s"),
    ):
        copy = pickle.loads(pickle.dumps(payload))
        for name in ("raw", "operation", "status", "url", "request_id", "elapsed", "fetched_at", "tables"):
            assert getattr(copy, name) == getattr(payload, name), name
        assert dict(copy.headers) == dict(payload.headers)
        assert [part.raw for part in copy.parts] == [part.raw for part in payload.parts]
        assert copy.table().to_dicts() == payload.table().to_dicts()


def test_html_is_escaped() -> None:
    raw = b'{"teams": [{"id": 1, "name": "<script>alert(1)</script>"}]}'
    assert "<script>" not in sideline.Payload.from_bytes("teams", raw).table()._repr_html_()
