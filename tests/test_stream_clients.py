"""The simulator's streams read by clients that share no code with it: `eventsource` and `ws` of npm, `websockets`, `httpx`."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import sideline

NOW = "2027-03-01T12:00:00Z"
TIMEOUT = 10.0
# Exact versions instead of a lock file, which would name a registry.
PEERS = ("eventsource@4.0.0", "ws@8.18.3")


@pytest.fixture
def season() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=3, teams=4, games=8, now=NOW) as season:
        season.streams.heartbeat = 0.05
        yield season


@pytest.fixture
def finished_game(season: sideline.Simulator) -> str:
    return str(season.games[0]["event_id"])


@pytest.fixture
def messages(season: sideline.Simulator, finished_game: str) -> list[dict[str, Any]]:
    """The websocket's messages, as the client reads them."""
    with season.client() as client, client.live(finished_game, sources=["stats", "shots", "marker"], notices=False) as stream:
        items = []
        while (item := stream._core.next_within(1.0)) is not None:
            items.append(item.to_dict())
        assert len(items) > 1000
        return items


def test_each_source_of_the_websocket_is_on_the_page(season: sideline.Simulator) -> None:
    with season.client() as client, client.live(season.games[0]["event_id"], quiet_after=0.5) as stream:
        items = itertools.takewhile(lambda item: not isinstance(item, sideline.live.Quiet), stream)
        sources = {item.source for item in items if isinstance(item, sideline.Update)}
    assert {"stats", "broadcastsummary"} < sources
    page = (Path(__file__).parent.parent / "docs" / "wire.md").read_text(encoding="utf-8")
    section = page.partition("## Websocket\n")[2].partition("\n## ")[0]
    assert sources <= set(re.findall(r"`(\w+)`", section))


def event_stream(season: sideline.Simulator, game_id: str) -> str:
    return f"{season.broadcast_base_url}/broadcast/v1/stats/event-stream?{urlencode({'schedule_id': game_id, 'apikey': season.api_key})}"


def websocket(season: sideline.Simulator, game_id: str, *more: tuple[str, object]) -> str:
    with season.client() as client:
        token = client.subscription_token(game_id)
    return f"{season.websocket_url}/live/v2/games?{urlencode([('token', token), *more])}"


def snapshot(season: sideline.Simulator, game_id: str) -> Any:
    """The same document, as REST has it."""
    with season.client() as client:
        return client.broadcast_stats(game_id).to_dict()


def test_httpx_reads_the_event_stream(season: sideline.Simulator, finished_game: str) -> None:
    lines: list[str] = []
    with httpx.stream("GET", event_stream(season, finished_game), timeout=TIMEOUT) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        for line in response.iter_lines():
            lines.append(line)
            if lines.count(":") == 2:
                break
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert [json.loads(text) for text in data] == [snapshot(season, finished_game)]


def test_httpx_is_refused_without_the_key(season: sideline.Simulator, finished_game: str) -> None:
    for address in (event_stream(season, finished_game).partition("&apikey")[0], event_stream(season, finished_game) + "x"):
        assert httpx.get(address, timeout=TIMEOUT).status_code == 401
    assert httpx.get(event_stream(season, "nobody"), timeout=TIMEOUT).status_code == 404


def test_websockets_reads_every_message_from_the_requested_number(season: sideline.Simulator, finished_game: str, messages: list[dict[str, Any]]) -> None:
    sources = [("source", "stats"), ("source", "shots"), ("source", "marker")]
    with connect(websocket(season, finished_game, *sources), proxy=None) as socket:
        assert [json.loads(socket.recv(TIMEOUT)) for _ in messages] == messages
    last = messages[-100]["seq"]
    with connect(websocket(season, finished_game, *sources, ("last_seq", last)), proxy=None) as socket:
        # The one that was named comes again: a client learns to leave it out.
        assert [json.loads(socket.recv(TIMEOUT)) for _ in range(100)] == messages[-100:]


def test_websockets_reads_the_whole_snapshot_and_gets_its_pings_answered(season: sideline.Simulator, finished_game: str) -> None:
    with connect(websocket(season, finished_game, ("source", "broadcastsummary")), proxy=None) as socket:
        message = json.loads(socket.recv(TIMEOUT))
        assert (message["source"], message["data"]) == ("broadcastsummary", snapshot(season, finished_game))
        assert socket.ping().wait(TIMEOUT)
        socket.send("ping")
        assert socket.recv(TIMEOUT) == "pong"
        socket.send('{"type": "ping", "n": 1}')
        assert json.loads(socket.recv(TIMEOUT)) == {"type": "pong", "n": 1}


def test_websockets_is_refused_without_a_token_and_closed_when_it_is_revoked(season: sideline.Simulator, finished_game: str) -> None:
    with pytest.raises(InvalidStatus) as excinfo:
        connect(f"{season.websocket_url}/live/v2/games?token=none", proxy=None)
    assert excinfo.value.response.status_code == 401
    with connect(websocket(season, finished_game, ("source", "broadcastsummary")), proxy=None) as socket:
        socket.recv(TIMEOUT)
        season.revoke_tokens()
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(TIMEOUT)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which node finds npm's clients."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed, and eventsource is npm's")
    folder = tmp_path_factory.mktemp("peers")
    install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent", *PEERS]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=50)
    except subprocess.TimeoutExpired:
        pytest.skip("npm's packages cannot be had here: npm install did not end in 50 s")
    if done.returncode:
        pytest.skip(f"npm's packages cannot be had here: {done.stderr.strip()[:200]}")
    return folder


EVENTSOURCE = """
import { EventSource } from 'eventsource';
const source = new EventSource(process.argv[2]);
const seen = [];
let opened = 0;
source.onopen = () => { opened += 1; };
source.onmessage = (event) => {
  seen.push(event.data);
  if (seen.length === Number(process.argv[3])) {
    console.log(JSON.stringify({ seen, opened }));
    source.close();
  }
};
"""

WS = """
import WebSocket from 'ws';
const socket = new WebSocket(process.argv[2]);
const seen = [];
socket.on('message', (data) => {
  seen.push(data.toString());
  if (seen.length === Number(process.argv[3])) {
    console.log(JSON.stringify({ seen }));
    socket.close();
  }
});
"""


def run(peers: Path, script: str, *arguments: str) -> Any:
    (peers / "read.mjs").write_text(script, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(["node", "read.mjs", *arguments], cwd=peers, capture_output=True, text=True, timeout=30, env=environment, check=True)
    return json.loads(done.stdout)


def test_npms_eventsource_reads_the_event_stream_and_comes_back_after_a_cut(season: sideline.Simulator, finished_game: str, peers: Path) -> None:
    # Cut behind the first event; the service's own `retry` is absent, so it waits what it likes.
    season.streams.insert(b"retry: 10\n\n", times=1)
    season.faults.add("/broadcast/v1/stats/event-stream", cut_at=20_000, times=1)
    season.streams.heartbeat = 0.0001
    read = run(peers, EVENTSOURCE, event_stream(season, finished_game), "2")
    assert [json.loads(text) for text in read["seen"]] == [snapshot(season, finished_game)] * 2
    assert read["opened"] == 2


def test_npms_ws_reads_every_message(season: sideline.Simulator, finished_game: str, messages: list[dict[str, Any]], peers: Path) -> None:
    address = websocket(season, finished_game, ("source", "stats"), ("source", "shots"), ("source", "marker"))
    read = run(peers, WS, address, str(len(messages)))
    assert [json.loads(text) for text in read["seen"]] == messages
