"""A live stream as a page: what browsers receive, which requests are refused, and that no browser delays the stream."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from service import Features, PlayedGame, Service

import sideline
from browser import Tab, browser, needs_browser
from readable import CONTRASTS
from sideline.live._page import LivePage, News, PageOptions, Settings, event, page, refusal
from streams import HEAD, server, then_hold

HOSTILE = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">'


def document(points: int, name: str = "Home", field_goals: int = 1, **more: Any) -> bytes:
    """An event with a whole document."""
    details = {"id": 11, "firstname": name, "lastname": "Lane", "profile_image_link": ""}
    lines = [{"id": 0, "stats": {"PTS": points}}, {"id": 11, "player_details": details, "stats": {"PTS": points, "FG": field_goals, "FGA": 2}}]
    teams = [{"id": 1, "name": name, "player_stats": lines}, {"id": 2, "name": "Away", "player_stats": []}]
    fields = {"home_team_id": 1, "away_team_id": 2, "period": "H1", "game_clock": "12:30.0", "teams": teams, **more}
    return b"data: %s\n\n" % json.dumps(fields).encode()


MAX_BROWSERS, MAX_CONNECTIONS = Settings().max_browsers, Settings().max_connections


@contextmanager
def serve_page(*first: bytes, **quantities: Any) -> Iterator[tuple[LivePage, Callable[[bytes], None]]]:
    """A page over a stream that sends the items of a list; with other settings than those of users."""

    class Page(LivePage):
        _settings = Settings(**quantities)

    waiting: queue.Queue[bytes | None] = queue.Queue()

    def connection(to: socket.socket) -> None:
        to.sendall(HEAD + b"".join(first))
        while data := waiting.get():
            to.sendall(data)
        # Also for a connection that the stream opened again.
        waiting.put(None)

    def page_of(stream: sideline.LiveStream) -> LivePage:
        return Page(stream, sideline.LiveBoxScore(), PageOptions()) if quantities else stream.serve()

    with server([connection]) as service, service.client() as client, client.live_stats("g1") as stream, page_of(stream) as live_page:
        try:
            yield live_page, waiting.put
        finally:
            waiting.put(None)


def port_of(live_page: LivePage) -> int:
    return int(live_page.url.rstrip("/").rpartition(":")[2])


def get(live_page: LivePage, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port_of(live_page), timeout=30)) as connection:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), b"" if path == "/events" and response.status == 200 else response.read()


class Follower:
    """A browser's side of the events, read as they arrive."""

    def __init__(self, live_page: LivePage) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port_of(live_page)), timeout=30)
        self.connection.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port_of(live_page)}\r\n\r\n".encode())
        self.file = self.connection.makefile("rb")
        self.head = b"".join(iter(self.file.readline, b"\r\n"))

    def next(self) -> tuple[str, dict[str, Any]]:
        kind = ""
        for line in self.file:
            if line.startswith(b"event: "):
                kind = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                return kind, json.loads(line[6:])
        raise EOFError

    def until(self, is_so: Callable[[dict[str, Any]], bool]) -> list[tuple[str, dict[str, Any]]]:
        """Events until the state that they add up to is so."""
        state, events = {}, []
        while not (state and is_so(state)):
            events.append(self.next())
            state |= events[-1][1]
        return events

    def close(self) -> None:
        self.file.close()
        self.connection.close()


def score(state: dict[str, Any]) -> Any:
    return state["teams"][0]["score"] if state["teams"] else None


# What is sent.


def test_an_event_is_the_whole_state_then_changes_then_heartbeats() -> None:
    before, after = {"a": "1", "b": "[2]"}, {"a": "1", "b": "[3]"}
    assert event(None, before) == b'event: state\ndata: {"a":1,"b":[2]}\n\n'
    assert event(before, after) == b'event: change\ndata: {"b":[3]}\n\n'
    assert event(after, after) == b":\n\n"


def test_a_browser_without_news_gets_heartbeats() -> None:
    with serve_page(document(1), heartbeat=0.02) as (live_page, _):
        follower = Follower(live_page)
        follower.until(lambda state: bool(state["teams"]) and score(state) == 1)
        beats = 0
        while beats < 3:
            beats += follower.file.readline() == b":\n"
        follower.close()


def test_a_browser_gets_the_whole_state_then_changes_and_the_whole_again_when_it_returns() -> None:
    with serve_page(document(3)) as (live_page, send):
        first = Follower(live_page)
        kind, state = first.next()
        assert kind == "state"
        assert {"title", "teams", "shots", "plays", "notices", "clock"} <= set(state)
        if score(state) is None:
            first.until(lambda state: bool(state.get("teams")) and score(state) == 3)
        send(document(5))
        [*_, (kind, change)] = first.until(lambda state: "teams" in state and score(state) == 5)
        assert kind == "change"
        assert "title" not in change
        assert "shots" not in change
        first.close()
        second = Follower(live_page)
        kind, state = second.next()
        assert (kind, score(state), state["title"], state["period"]) == ("state", 5, "live_stats g1", "H1")
        second.close()


def test_hostile_text_is_one_line_of_json() -> None:
    with serve_page(document(3, HOSTILE + "\r\n\r\nevent: state\ndata: {}\u2028")) as (live_page, _):
        follower = Follower(live_page)
        [*_, (_, state)] = follower.until(lambda state: bool(state.get("teams")) and score(state) == 3)
        assert state["teams"][0]["name"].startswith("</script>")
        follower.close()


# Who gets nothing.


@pytest.mark.parametrize(
    ("path", "hosts", "origin", "site", "status"),
    [
        ("/", ["127.0.0.1:80"], None, None, None),
        ("/", ["127.0.0.1"], None, None, None),
        ("/", ["LOCALHOST"], None, None, None),
        ("/", ["localhost:8000"], None, None, HTTPStatus.MISDIRECTED_REQUEST),
        ("/", ["evil.example:80"], None, None, HTTPStatus.MISDIRECTED_REQUEST),
        ("/", [], None, None, HTTPStatus.MISDIRECTED_REQUEST),
        ("/", ["localhost", "localhost"], None, None, HTTPStatus.MISDIRECTED_REQUEST),
        ("/events", ["localhost"], "http://localhost", "same-origin", None),
        ("/events", ["localhost"], None, "none", None),
        ("/events", ["localhost"], "http://evil.example", None, HTTPStatus.FORBIDDEN),
        ("/events", ["localhost"], "null", None, HTTPStatus.FORBIDDEN),
        ("/events", ["localhost"], None, "cross-site", HTTPStatus.FORBIDDEN),
        ("/events", ["localhost"], None, "same-site", HTTPStatus.FORBIDDEN),
        ("/../secret", ["localhost"], None, None, HTTPStatus.NOT_FOUND),
    ],
)
def test_a_request_is_refused_unless_it_is_the_pages_own(path: str, hosts: list[str], origin: str | None, site: str | None, status: HTTPStatus | None) -> None:
    assert refusal(path, "", hosts, origin, site, PageOptions(), 80) == status


def test_every_response_keeps_other_sites_out() -> None:
    with serve_page(document(3)) as (live_page, _):
        responses = [
            get(live_page),
            get(live_page, "/events"),
            get(live_page, "/other"),
            get(live_page, Host="evil.example"),
            get(live_page, "/events", Origin="http://evil.example"),
            get(live_page, method="POST"),
        ]
        assert [status for status, _, _ in responses] == [200, 200, 404, 421, 403, 501]
        for _, headers, _ in responses:
            assert not [name for name in headers if name.lower().startswith("access-control")]
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert (headers["X-Content-Type-Options"], headers["X-Frame-Options"]) == ("nosniff", "DENY")
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert b"Home" not in responses[4][2]


def test_the_page_is_one_document_without_addresses() -> None:
    html, policy = page()
    text = html.decode()
    assert set(re.findall(r"https?://[^\"']+", text)) == {"http://www.w3.org/2000/svg"}, "a namespace, which nothing loads"
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|style=| on\w+=", text)
    assert policy.count("'sha256-") == 2
    assert '<html lang="en">' in text


def test_no_credential_reaches_the_page(tmp_path: Path) -> None:
    with sideline.Simulator(seed=11, teams=4, games=8) as service, service.client() as client:
        with client.live(service.games[-1]["event_id"]) as stream, stream.serve() as live_page:
            service.play(service.games[-1]["event_id"], speed=None)
            follower = Follower(live_page)
            events = follower.until(lambda state: state["is_over"])
            follower.close()
            token = client.subscription_token(service.games[-1]["event_id"])
            sent_text = json.dumps(events) + get(live_page)[2].decode() + repr(live_page) + live_page._repr_html_()
    assert not [secret for secret in (service.secret, service.api_key, service.username, str(token)) if secret in sent_text]


# Life.


def test_a_port_in_use_is_named() -> None:
    with serve_page() as (live_page, _), sideline.Client(api_key="k") as client:
        with pytest.raises(OSError, match=rf"port {port_of(live_page)} is in use; choose another one, or 0 for any free port"):
            client.live_stats("g2").serve(port=port_of(live_page))
        with pytest.raises(ValueError, match="port is 70000; it must be from 0 to 65535"):
            client.live_stats("g2").serve(port=70_000)


def test_closing_ends_browsers_threads_and_the_stream_but_not_one_that_was_entered() -> None:
    before = threading.active_count()
    with server([then_hold(document(3))]) as service, service.client() as client:
        with client.live_stats("g1") as stream:
            with stream.serve() as live_page:
                follower = Follower(live_page)
                follower.until(lambda state: bool(state["teams"]))
            assert stream.state == "connected"
            with pytest.raises(EOFError):
                follower.until(lambda _: False)
            follower.close()
            with pytest.raises(OSError, match="refused"):
                get(live_page)
            live_page.close()
            assert repr(live_page).endswith(", closed>")
        other = client.live_stats("g1")
        with other.serve():
            pass
        assert other.state == "closed"
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("sideline page")] == []
    assert threading.active_count() <= before + 1


@pytest.mark.parametrize(
    "read",
    [
        next,
        iter,
        lambda stream: next(stream.batches()),
        lambda stream: stream.display(),
        lambda stream: stream.serve(),
        lambda stream: asyncio.run(anext(stream)),
        lambda stream: asyncio.run(anext(aiter(stream.batches()))),
    ],
)
def test_a_stream_that_a_page_reads_has_no_other_reader(read: Callable[[Any], Any]) -> None:
    with server([then_hold(document(3))]) as service, service.client() as client, client.live_stats("g1") as stream:
        with stream.serve() as live_page:
            with pytest.raises(RuntimeError, match="a page takes the items of this stream: close the page first, or record the stream before it"):
                read(stream)
            follower = Follower(live_page)
            follower.until(lambda state: bool(state["teams"]))
            follower.close()
        with stream.serve():
            pass


def test_an_error_of_the_stream_is_shown_and_raised_by_wait() -> None:
    body = b'{"message":"no k"}'
    response = b"HTTP/1.1 401 X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with server([lambda to: to.sendall(response)]) as service, service.client() as client, client.live_stats("g1").serve() as live_page:
        with pytest.raises(sideline.AuthenticationError):
            live_page.wait(60)
        follower = Follower(live_page)
        _, state = follower.next()
        follower.close()
        assert state["state"] == "closed"
        assert "401" in state["error"]
        assert "canary" not in json.dumps(state)


def test_a_journal_is_served_to_its_end(tmp_path: Path) -> None:
    with server([then_hold(document(3) + document(5))]) as service, service.client() as client:
        with client.live_stats("g1").record(tmp_path / "g.journal") as stream:
            for _ in range(3):
                next(stream)
    score_now = sideline.LiveBoxScore()
    with sideline.replay(tmp_path / "g.journal", speed=None).serve(score_now) as live_page:
        assert live_page.wait(60)
        assert live_page.wait(timedelta(seconds=60))
        assert live_page.wait(timedelta.max)
        for timeout, problem in ((float("nan"), "timeout is nan; it must be 0 or more"), (-1, "timeout is -1; it must be 0 or more")):
            with pytest.raises(ValueError, match=problem):
                live_page.wait(timeout)
        with pytest.raises(TypeError, match="timeout is a number of seconds or a timedelta, not str"):
            live_page.wait("60")  # type: ignore[arg-type]
        follower = Follower(live_page)
        _, state = follower.next()
        assert (score(state), state["state"], state["stale"]) == (5, "closed", False), "all that was recorded is shown"
        follower.close()
    assert score_now.table().to_dicts()[0]["PTS"] == 5


def test_a_script_that_forgets_to_close_the_page_ends(tmp_path: Path) -> None:
    code = "import sideline, sys; client = sideline.Client(api_key='k', broadcast_base_url=sys.argv[1]); print(client.live_stats('g1').serve().url)"
    with server([then_hold(document(3))]) as service:
        done = subprocess.run([sys.executable, "-W", "error", "-c", code, service.base_url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("http://127.0.0.1:")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_leaves_the_page_open() -> None:
    with serve_page(document(3)) as (live_page, send):
        follower = Follower(live_page)
        follower.until(lambda state: bool(state["teams"]) and score(state) == 3)
        if (child := os.fork()) == 0:
            signal.alarm(30)
            live_page.close()
            os._exit(0)
        os.waitpid(child, 0)
        send(document(9))
        follower.until(lambda state: "teams" in state and score(state) == 9)
        follower.close()


# Bounds.


def test_a_browser_that_does_not_read_delays_neither_the_stream_nor_others_nor_the_end() -> None:
    with serve_page(document(1), socket_timeout=None) as (live_page, _):
        slow = Follower(live_page)
        slow.next()
        # The views are the test's from now on.
        live_page._stop_event.set()
        assert live_page.wait(60)
        # Far more than a socket holds.
        for number in range(200):
            live_page._news.publish({"title": str(number), "notices": ["x" * 200_000]})  # type: ignore[typeddict-item]
        quick = Follower(live_page)
        _, state = quick.next()
        assert state["title"] == "199"
        quick.close()
    assert not live_page._server._connections
    slow.close()


def test_a_reader_that_comes_late_gets_the_newest_view_alone() -> None:
    news = News()
    for number in range(3):
        news.publish({"title": str(number)})  # type: ignore[typeddict-item]
    seen = news.newer(None, 0)
    assert seen == {"title": '"2"'}
    news.publish({"title": "2"})  # type: ignore[typeddict-item]
    assert news.newer(seen, 0) is seen, "nothing changed"


def test_the_number_of_browsers_and_connections_is_limited() -> None:
    with serve_page(document(1)) as (live_page, _):
        followers = [Follower(live_page) for _ in range(MAX_BROWSERS)]
        status, _, body = get(live_page, "/events")
        assert status == 503
        assert b"16 browsers follow this page already" in body
        assert get(live_page)[0] == 200, "the page itself can be opened"
        idle = [socket.create_connection(("127.0.0.1", port_of(live_page))) for _ in range(MAX_CONNECTIONS - MAX_BROWSERS)]
        end = time.monotonic() + 60
        while len(live_page._server._connections) < MAX_CONNECTIONS:
            assert time.monotonic() < end
        assert get(live_page)[0] == 200, "the oldest that has sent no request makes room"
        assert len(live_page._server._connections) <= MAX_CONNECTIONS
        for connection in idle:
            connection.close()
        followers[0].close()
        # The next changes reveal that it has gone.
        for number in range(10_000):
            live_page._news.publish({"title": str(number)})  # type: ignore[typeddict-item]
            with suppress(OSError, http.client.HTTPException):
                if get(live_page, "/events")[0] == 200:
                    break
            assert time.monotonic() < end
        for follower in followers:
            follower.close()


# A real browser.


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("browser")
    with browser(folder) as tab:
        yield tab
    shutil.rmtree(folder, ignore_errors=True)


POINTS = "[...document.querySelectorAll('#score strong')].map(one => one.textContent).join(' ')"


def overflows(tab: Tab, width: int) -> Any:
    """The elements wider than the page, for which a phone's browser would zoom out."""
    beyond = f"getBoundingClientRect().right > {width + 1}"
    script = (
        f"[...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll > *, .hidden') && one.{beyond}).map(one => one.outerHTML.slice(0, 90))"
    )
    return tab.run(script) or tab.run(f"Math.max(0, document.documentElement.scrollWidth - {width})")


@needs_browser
def test_a_played_game_with_cuts_ends_with_the_rest_apis_score_in_a_browser(tab: Tab) -> None:
    with sideline.Simulator(seed=11, teams=4, games=8, now="2027-03-01T12:00:00Z") as season, season.client() as client:
        game = season.games[-1]
        client._recover_pause = 0.1
        with client.live(game["event_id"], retry_wait=0.01, max_wait=0.02) as stream, stream.serve() as live_page:
            tab.requests.clear()
            tab.open(live_page.url)
            tab.wait("document.querySelector('#status').innerText.includes('connected')")
            season.play(game["event_id"], speed=1500)
            for half in ("H1", "H2"):
                tab.wait(f"document.querySelector('#clock').innerText.startsWith('{half}')")
                season.streams.cut()
            tab.wait("document.querySelector('#clock').innerText.includes('ended')")
            teams = [client.team_game_stats(game[side], game_id=game["event_id"]).table("box_score").to_dicts() for side in ("home_team_id", "away_team_id")]
            totals = [next(row for row in rows if row["is_team_total"]) for rows in teams]
            expected = " ".join(f"{row['PTS']:g}" for row in totals)
            tab.wait(f"{POINTS} === '{expected}'")
            assert tab.run("document.title").startswith(expected.replace(" ", "–"))
            # Each player's points, beside the name.
            for place, rows in enumerate(teams):
                lines = f"[...document.querySelectorAll('table')[{place}].tBodies[0].rows].map(row => [row.cells[0].textContent, row.cells[1].textContent])"
                page_points = [(name, float(points or 0)) for name, points in tab.run(lines)]
                assert sorted(page_points) == sorted((f"{row['first_name']} {row['last_name']}", row["PTS"] or 0) for row in rows if not row["is_team_total"])
            gaps = stream.stats.gaps
            assert gaps >= 2
            tab.wait(f"document.querySelector('#status').innerText.includes('{gaps} gaps, all closed')", 20)
            assert tab.run("document.querySelectorAll('#notices .gap').length") == 0, "closed gaps are not red"
            attempts = sum(row["FGA"] for row in totals)
            assert tab.run("document.querySelectorAll('.made, .missed').length") == attempts
            assert tab.run("document.querySelectorAll('.made').length") == sum(row["FG"] for row in totals)
            for width in (375, 1280):
                tab.resize(width)
                assert overflows(tab, width) == 0
            for scheme in ("light", "dark"):
                tab.prefer(scheme)
                assert tab.run(CONTRASTS) == []
            assert all(address.startswith((live_page.url, "data:")) for address in tab.requests), tab.requests
            assert tab.complaints == []
            # Another visit shows the same.
            tab.open(live_page.url)
            tab.wait(f"{POINTS} === '{expected}'")


def unreadable(body: dict[str, Any]) -> dict[str, Any]:
    """A response of `catch_up` with one unreadable row."""
    first, *others = body["stats"]
    return body | {"stats": [first | {"totalStats": {"PTS": "x"}}, *others]}


@needs_browser
def test_a_page_says_what_it_does_not_know_while_rest_hangs_and_rows_are_bad(tab: Tab, tmp_path: Path) -> None:
    features = Features(subscription_token=True, catch_up=True, catch_up_lines="all")
    with (
        Service(seed=1, teams=2, games=1, practices=0, upcoming=0, sessions=(2, 2), features=features) as service,
        sideline.Client(**service.client_options()) as client,
    ):
        # Messages without numbers: no connection resends what another lost.
        game = PlayedGame(service, service.season.games[0], is_numbered=False)
        teams = sorted(game.event.team_ids)

        def points() -> str:
            """As the page has them."""
            return " ".join(f"{totals[team, 0]['PTS']:g}" if "PTS" in (totals := game.totals()).get((team, 0), {}) else "–" for team in teams)

        client._recover_pause = 0.1
        with client.live(game.event.id, retry_wait=0.01, max_wait=0.02) as stream, stream.serve() as live_page:
            service.live.wait_for_connections(1)
            tab.resize(1280)
            tab.open(live_page.url)
            while min(totals.get("PTS", 0) for key, totals in game.totals().items() if not key[1]) < 5:
                game.play()
            tab.wait(f"{POINTS} === '{points()}'")
            service.live.send({"team_id": teams[0], "player_id": 7, "stats": {"PTS": "x"}, "version": 1}, source="stats", type="stats")
            tab.wait("document.querySelector('#status').innerText.includes('1 row unreadable')")
            before = points()
            # The first request hangs, and the response of the second has a bad row.
            service.faults.add("catch_up", times=1, delay=3.0)
            service.faults.add("catch_up", times=1, change=unreadable)
            refusal = service.live.refuse(503)
            service.live.cut()
            while points() == before:
                game.play()
            service.faults.remove(refusal)
            tab.wait("document.querySelector('#status').innerText.includes('1 gap, 1 open')")
            assert tab.run(POINTS) == before
            tab.screenshot(tmp_path / "while-rest-hangs.png")
            tab.wait("document.querySelector('#status').innerText.includes('2 rows unreadable')")
            tab.screenshot(tmp_path / "a-bad-row.png")
            tab.wait("document.querySelector('#status').innerText.includes('1 gap, all closed')")
            # What was recovered names the sides.
            teams[:] = game.event.home_id, game.event.away_id
            tab.wait(f"{POINTS} === '{points()}'")
            tab.screenshot(tmp_path / "recovered.png")
            assert "2 rows unreadable" in tab.text("#status")
            assert tab.run("document.querySelectorAll('#plays li').length") == 0, "a message without a classification is no play"
            lines = "[...document.querySelectorAll('table tbody tr')].map(row => Number(row.cells[1].textContent) || 0)"
            points_of_page = sorted(value for value in tab.run(lines) if value)
            assert points_of_page == sorted(totals["PTS"] for (_, player), totals in game.totals().items() if player and totals.get("PTS"))
    assert tab.complaints == []


@needs_browser
def test_a_page_counts_rows_that_it_leaves_out_and_calls_no_open_gap_closed(tab: Tab) -> None:
    third = {"type": "stats", "data": {"team_id": 3, "player_id": 31, "stats": {"PTS": 2}, "version": 1}}
    with serve_page(document(3), b"data: %s\n\n" % json.dumps(third).encode()) as (live_page, _):
        tab.open(live_page.url)
        tab.wait("document.querySelector('#status').innerText.includes('1 row left out')")
        # The views are the test's from now on.
        live_page._stop_event.set()
        assert live_page.wait(60)
        for is_stale, text in ((True, "1 gap"), (False, "1 gap, all closed")):
            live_page._news.publish({**live_page._game.view(), "gaps": 1, "stale": is_stale})
            tab.wait(f"[...document.querySelectorAll('#status span')].some(one => one.textContent === '{text}')")
        assert tab.complaints == []
        # Its page would ask for news of a closed server while the next test runs.
        tab.open("about:blank")


@needs_browser
def test_a_hostile_name_is_text_in_a_browser(tab: Tab) -> None:
    shot = {"is_make": True, "hoop_player_x": 1, "hoop_player_y": 1, "period": HOSTILE}
    hostile = json.loads(document(3, HOSTILE)[6:])
    hostile |= {"period": HOSTILE, "game_clock": HOSTILE}
    hostile["teams"][0]["player_shots"] = [{"id": 11, "shots": [shot]}]
    with serve_page(b"data: %s\n\n" % json.dumps(hostile).encode(), b'data: {"marker": %s}\n\n' % json.dumps(HOSTILE).encode()) as (live_page, _):
        tab.resize(375)
        tab.open(live_page.url)
        tab.wait("!!document.querySelector('.made') && !!document.querySelector('#plays li')")
        assert tab.run("[window.pwned, document.images.length, document.scripts.length]") == [None, 0, 1]
        assert "<script>window.pwned=1</script>" in tab.text("#score .name")
        assert overflows(tab, 375) == 0
    assert tab.complaints == []


@needs_browser
def test_the_page_can_be_read_by_all_in_a_browser(tab: Tab) -> None:
    with serve_page(document(3)) as (live_page, send):
        tab.open(live_page.url)
        tab.wait(f"{POINTS} === '3 –'")
        assert tab.run("document.querySelector('#score').ariaLive") == "polite"
        assert tab.run("[...document.querySelectorAll('th')].every(one => ['col', 'row'].includes(one.scope))")
        assert tab.run("[...document.querySelectorAll('table')].every(one => one.caption.textContent)")
        assert tab.run("[...document.querySelectorAll('section')].every(one => document.getElementById(one.getAttribute('aria-labelledby')).textContent)")
        assert tab.run("[...document.querySelectorAll('.scroll')].every(one => one.tabIndex === 0 && one.ariaLabel)")
        assert tab.run("[document.querySelectorAll('main').length, document.querySelectorAll('h1').length]") == [1, 1]
        # A score that did not change is not read out again.
        tab.run("new MutationObserver(() => { window.said = (window.said || 0) + 1 }).observe(document.querySelector('#score'), {childList: true})")
        send(document(3, field_goals=2))
        tab.wait("document.querySelector('#box').innerText.includes('2–2')")
        assert tab.run("window.said") is None
        send(document(5))
        tab.wait(f"{POINTS} === '5 –'")
        assert tab.run("window.said") == 1


@needs_browser
def test_a_browser_says_that_sideline_is_gone_and_finds_it_again(tab: Tab) -> None:
    with serve_page(document(3)) as (live_page, _):
        port = port_of(live_page)
        tab.open(live_page.url)
        tab.wait(f"{POINTS} === '3 –'")
    tab.wait("document.querySelector('#status').innerText.includes('lost its connection')")
    with server([then_hold(document(8))]) as service, service.client() as client, client.live_stats("g1").serve(port=port):
        tab.wait(f"{POINTS} === '8 –'")
        assert "lost" not in tab.text("#status")
    tab.open("about:blank")
    tab.complaints.clear()


@needs_browser
def test_a_browser_that_was_one_too_many_tries_again(tab: Tab) -> None:
    with serve_page(document(3), heartbeat=0.1) as (live_page, _):
        followers = [Follower(live_page) for _ in range(MAX_BROWSERS)]
        tab.open(live_page.url)
        tab.wait("document.querySelector('#status').innerText.includes('lost its connection')")
        for follower in followers:
            follower.close()
        tab.wait(f"{POINTS} === '3 –'")
    tab.open("about:blank")
    tab.complaints.clear()
