"""Text of a peer reaches terminals, logs, notebooks and charts without control characters, and short."""

from __future__ import annotations

import json
import logging
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from independent import Asked, server
from needs import PLOT, library, needs

import sideline
import streams
from sideline._rows.names import Found
from sideline._rows.text import visible

NAME = "\x1b[31mred\r\n\u202eback\u200b\x9b"
SECRET, KEY = "s3cret/canary+one=", "key/canary+two="


def teams(name: str) -> sideline.Payload:
    return sideline.Payload.from_bytes("teams", json.dumps({"teams": [{"id": 7, "name": name}]}).encode())


def is_clean(text: str) -> bool:
    """Whether it has no control characters but its own line ends."""
    return all(line == visible(line) for line in text.split("\n"))


@pytest.fixture
def client(service: sideline.Simulator) -> Iterator[sideline.Client]:
    with service.client(max_retries=0) as client:
        yield client


@pytest.mark.parametrize("show", [str, repr, lambda table: table._repr_html_()])
def test_a_table_is_printed_without_the_control_characters_of_its_values(show: Callable[[sideline.Table], str]) -> None:
    text = show(teams(NAME).table())
    assert is_clean(text)
    assert "\u202e" not in text
    assert len(text.splitlines()) < (20 if "<table>" in text else 5)
    if show is not repr:
        assert "\\x1b[31mred\\r\\n\\u202eb" in text


def test_a_column_that_a_body_brings_along_is_printed_without_its_control_characters() -> None:
    body = {"teams": [{"id": 1, "player_stats": [{"id": 2, "stats": {NAME: 1}}]}]}
    table = sideline.Payload.from_bytes("stats", json.dumps(body).encode(), session_id="s").table("box_score")
    assert table.column_names[-1] == NAME
    for text in (str(table), repr(table), table._repr_html_(), repr(table.schema), table.schema._repr_html_(), repr(table.schema[NAME])):
        assert is_clean(text)


@pytest.mark.parametrize("time", [253_402_300_800_000, -62_135_596_800_001, 8_000_000_000_000_000, 2**63 - 1, -(2**63) + 1])
def test_a_time_that_no_datetime_has_is_text_wherever_it_is_shown(time: int) -> None:
    body = json.dumps({"games": [{"event_id": "g", "tipoff_at": time}, {"event_id": "h", "tipoff_at": 0}]}).encode()
    table = sideline.Payload.from_bytes("schedule", body).table()
    out_of_range, default_time = (row["tipoff_at"] for row in table.to_dicts())
    assert isinstance(out_of_range, str)
    assert out_of_range == "<out of range>" or out_of_range.endswith("Z")
    assert default_time.year == 1970
    assert out_of_range in str(sideline.Payload.from_bytes("schedule", body).table(columns=["tipoff_at"]))
    assert "1970-01-01 00:00:00" in table._repr_html_()


def test_an_update_is_shown_without_the_control_characters_of_its_names() -> None:
    event = "event: a\x1b[2Jb\u202e\nid: \x07\ndata: {}\n\n".encode()
    with streams.server([streams.then_hold(event)]) as service, service.client() as client, client.live_stats("g") as stream:
        update = next(item for item in stream if isinstance(item, sideline.Update))
    assert update.event == "a\x1b[2Jb\u202e"
    assert is_clean(repr(update))
    assert "a\\x1b[2Jb" in repr(update)


@needs(*PLOT, extra="plot")
@pytest.mark.parametrize("name", [r"$\frac{$", "$x$ $", "\\$", "a$b", NAME])
def test_a_chart_draws_any_team_name(name: str) -> None:
    plt = library("matplotlib.pyplot")
    shots = {"team_id": [7], "hoop_player_x": [1000.0], "hoop_player_y": [2000.0], "is_make": [1.0], "points": [2.0], "team_name": [name]}
    figure, axes = plt.subplots()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # A font has not every letter.
        sideline.plot.shot_chart(shots, axes)
        figure.canvas.draw()
    assert is_clean(axes.get_title(loc="left"))
    plt.close(figure)


ABSURD = [2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001, 2**53 + 1]


@needs(*PLOT, extra="plot")
@pytest.mark.parametrize("time", ABSURD)
def test_a_chart_says_that_a_time_is_out_of_range(time: int) -> None:
    plt = library("matplotlib.pyplot")
    possessions = {"team_id": [7], "start_timestamp": [time], "end_timestamp": [time], "period": ["Q1\0"], "turnover": [True]}
    locations = {"t": [time], "x": [0.0], "y": [0.0], "tag": ["a\0"], "team_id": [2**62], "player_id": [1], "game_clock": [NAME]}
    for draw, rows in ((partial(sideline.plot.possession_timeline, clock="wall"), possessions), (sideline.plot.tracking, locations)):
        figure, axes = plt.subplots()
        draw(rows, ax=axes)
        figure.canvas.draw()
        assert "<out of range>" in axes.get_xlabel()
        assert is_clean(axes.get_xlabel())
        plt.close(figure)


def test_names_of_no_team_are_left_out() -> None:
    teams = [None, 7, {"name": "no id"}, {"id": None, "name": "x"}, {"id": "7", "name": "By text"}, {"id": 2**80, "name": "y"}, {"id": 1.5, "name": "z"}]
    bodies = [{"teams": teams}, {"teams": {"id": 7}}, [], [{"id": "x", "name": "y"}]]
    names = Found(sideline.Payload.from_bytes("shots", json.dumps(body).encode(), session_id="s") for body in bodies)
    assert names.teams == {7: "By text", 2**80: "y"}


def test_an_unknown_field_is_reported_in_a_short_line(client: sideline.Client, service: sideline.Simulator, caplog: pytest.LogCaptureFixture) -> None:
    body = {"teams": [{"id": 7, NAME: 1, **{f"{n}{'k' * 500_000}": 1 for n in range(8)}}]}
    service.faults.add("/v1/data/teams", body=json.dumps(body).encode(), times=1)
    with caplog.at_level(logging.WARNING, "sideline"), warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        payload = client.teams()
    texts = [str(record.message) for record in records] + [record.getMessage() for record in caplog.records]
    assert len(texts) == 18
    assert all(is_clean(text) and len(text) < 600 for text in texts)
    assert "teams[].\\x1b[31mred" in texts[0]
    assert all(is_clean(path) and len(path) < 250 for path in payload.unknown_fields())
    assert payload.to_dict() == body


def test_the_words_of_an_error_are_one_short_line(client: sideline.Client, service: sideline.Simulator) -> None:
    message = f"{NAME} {'long ' * 4_000}"
    body = {"status": 422, "message": f"{message} | second", "request_id": NAME, "xRequestId": NAME + "i" * 10_000}
    service.faults.add("/v1/data/teams", status=422, body=json.dumps(body).encode(), times=1)
    with pytest.raises(sideline.InvalidRequest) as excinfo:
        client.teams()
    error = excinfo.value
    for text in (str(error), error.message, error.request_id or "", *error.rules):
        assert text == visible(text)
        assert len(text.encode()) < 2_000
    assert error.message.startswith("\\x1b[31mred")
    assert error.rules[1] == "second"


@pytest.mark.parametrize("send_request", [
    lambda client: client.roster("x" * 10_000_000),
    lambda client: client.get("/v1/data/" + "x" * 10_000_000),
    lambda client: client.follow("x" * 10_000_000),
    lambda client: client.shots("\x1b" * 1000),
    lambda client: client.get("/v1/data/teams", params={"a": "\u202e" * 10_000_000}),
])  # fmt: skip
def test_no_argument_makes_a_long_error(client: sideline.Client, send_request: Callable[[sideline.Client], Any]) -> None:
    with pytest.raises((sideline.SidelineError, ValueError)) as excinfo:
        send_request(client)
    assert len(str(excinfo.value).encode()) < 2_000
    assert is_clean(str(excinfo.value))


def depths(text: str) -> list[str]:
    quoted_once = quote(text, safe="")
    return [text, quoted_once, quote(quoted_once, safe=""), quote(quote(quoted_once, safe=""), safe="")]


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("depth", range(4))
def test_a_redirect_that_repeats_the_key_shows_it_nowhere(depth: int, status: int, caplog: pytest.LogCaptureFixture) -> None:
    """A gateway's login page, which contains the address to return to."""

    def turn(request: Asked) -> tuple[int, dict[str, str], bytes]:
        if request.target.startswith("/login"):
            return status, {"content-type": "application/json", "x-from": request.target}, b'{"teams": []}'
        return 302, {"location": f"/login?next={depths(request.target)[depth]}"}, b""

    with caplog.at_level(logging.DEBUG, "sideline"), server(turn) as service:
        base = {"base_url": service.base_url, "broadcast_base_url": service.base_url}
        with sideline.Client(username="ann", secret=SECRET, api_key=KEY, max_retries=0, **base) as client:
            texts = texts_of(client)
    texts += [record.getMessage() for record in caplog.records]
    assert "/login" in texts[0]
    assert len(caplog.records) > 0
    assert not [text for text in texts for form in depths(KEY) if form.lower() in text.lower()]


def texts_of(client: sideline.Client) -> list[str]:
    try:
        result = client.broadcast_teams()
    except sideline.ApiError as error:
        return [error.url, str(error), repr(error), pickle.dumps(error).decode("latin-1")]
    return [str(result.url), repr(result), result._repr_html_(), str(dict(result.headers)), pickle.dumps(result).decode("latin-1")]


def test_a_token_is_hidden_where_a_fresh_one_is_requested(caplog: pytest.LogCaptureFixture) -> None:
    """The passed token is refused, and the service repeats it in its response to the request for another."""
    token = "token/canary+three="

    def respond(request: Asked) -> tuple[int, dict[str, str], bytes]:
        status = 206 if "_subscribe" in request.target else 403
        return status, {"x-request-id": token}, json.dumps({"status": status, "message": f"what is {quote(token, safe='')}?"}).encode()

    with caplog.at_level(logging.DEBUG, "sideline"), server(respond) as service:
        addresses = {"base_url": service.base_url, "websocket_url": service.base_url.replace("http", "ws")}
        with sideline.Client(username="ann", secret=SECRET, max_retries=1, **addresses) as client:
            with client.live("g", token=token, retry_wait=0.01, max_wait=0.02, give_up_on=[]) as stream:
                texts = [repr(next(stream)) for _ in range(3)]
    texts += [record.getMessage() for record in caplog.records]
    assert any("_subscribe" in text and "what is ***?" in text for text in texts), texts
    assert not [text for text in texts for form in depths(token) if form.lower() in text.lower()]


def test_the_error_of_an_update_hides_what_a_payloads_would() -> None:
    event = f'id: 1\nevent: {KEY}\ndata: {{"action": {{"{KEY}": [x]}}}}\n\n'.encode()
    with streams.server([streams.then_hold(event)]) as service:
        with sideline.Client(api_key=KEY, broadcast_base_url=service.base_url) as client, client.live_stats("g") as stream:
            update = next(item for item in stream if isinstance(item, sideline.Update))
            with pytest.raises(sideline.DecodeError) as excinfo:
                update.to_dict()
    assert "$.action.***[0]" in str(excinfo.value)
    assert KEY not in f"{excinfo.value!r} {excinfo.value.path} {update!r}"
