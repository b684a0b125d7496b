"""The feed of a live game for graphics systems: its fields, its delay, what it says when values may be missing, and who may read it."""

from __future__ import annotations

import csv
import http.client
import io
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from needs import library
from service import Features, PlayedGame, Service

import sideline
from browser import Tab, browser, needs_browser
from sideline.cli import main
from sideline.live._feed import FEED_FIELDS, SCORE_FIELDS, STAT_CODES
from sideline.live._page import LivePage, PageOptions, refusal

FEED_PATHS = ("/score.json", "/feed.json", "/feed.csv", "/feed.xml", "/overlay", "/healthz")

TOKEN = "a-token-of-twenty-four-ch"
PAGE = Path(__file__).parent.parent / "docs" / "on-air.md"


def get(page: LivePage, path: str, host: str = "127.0.0.1", **headers: str) -> tuple[int, dict[str, str], bytes]:
    port = int(re.findall(r":(\d+)/", page.url)[0])
    with closing(http.client.HTTPConnection(host, port, timeout=30)) as connection:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()


def score(page: LivePage) -> dict[str, Any]:
    return dict(json.loads(get(page, "/score.json")[2]))


def page_state(page: LivePage) -> dict[str, Any]:
    """The state that a browser which connects now receives."""
    port = int(re.findall(r":(\d+)/", page.url)[0])
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/events")
        response = connection.getresponse()
        state = next(line for line in response if line.startswith(b"data: "))
        return dict(json.loads(state[6:]))


def points_on_page(page: LivePage) -> list[Any]:
    return [team["score"] for team in page_state(page)["teams"]]


def until(condition: Callable[[], object], seconds: float = 15.0) -> float:
    """How long it took until a condition became true."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() < start + seconds
        time.sleep(0.005)
    return time.monotonic() - start


class Game:
    """A game of the second service, and its messages."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.play_by_play = PlayedGame(service, service.season.games[0], is_numbered=False)
        self.id = self.play_by_play.event.id
        self.home, self.away = self.play_by_play.event.team_ids[:2]

    def summary(self, clock: str = "12:30.0", period: str = "H1") -> None:
        """Sides and clock, as the summary has them."""
        data = {"home_team_id": self.home, "away_team_id": self.away, "period": period, "game_clock": clock}
        self.service.live.send(data, source="broadcastsummary")

    def points(self, team: int) -> float:
        return self.play_by_play.totals().get((team, 0), {}).get("PTS", 0)

    def play_to(self, points: int) -> None:
        while min(self.points(self.home), self.points(self.away)) < points:
            assert self.play_by_play.play()

    def end(self) -> None:
        self.service.live.send({"marker": "GAME_END"}, source="markers")


@contextmanager
def games() -> Iterator[tuple[Game, sideline.Client]]:
    features = Features(subscription_token=True, catch_up=True, catch_up_lines="all")
    with (
        Service(seed=1, teams=2, games=1, practices=0, upcoming=0, sessions=(2, 2), features=features) as service,
        sideline.Client(**service.client_options()) as client,
    ):
        client._recover_pause = 0.1
        yield Game(service), client


@contextmanager
def on_air(**options: Any) -> Iterator[tuple[Game, LivePage]]:
    """A feed whose start is over, with a score of at least 5 to 5."""
    with games() as (game, client), client.live(game.id, retry_wait=0.05, max_wait=0.1) as stream:
        game.play_to(3)
        box = sideline.LiveBoxScore()
        for team in (game.home, game.away):
            box.seed(client.team_game_stats(team, game_id=game.id))
        box.seed(client.roster(game.home))
        with stream.serve(box, feed=True, **options) as page:
            game.service.live.wait_for_connections(1)
            game.play_to(5)
            game.summary()
            if not options:
                until(lambda: score(page)["verdict"] == "live")
            yield game, page


# The documents.


def test_score_and_rows_are_those_of_the_service() -> None:
    with on_air() as (game, page):
        fields = score(page)
        assert list(fields) == list(SCORE_FIELDS)
        assert (fields["home_points"], fields["away_points"]) == (game.points(game.home), game.points(game.away))
        assert (fields["game_id"], fields["home_team_id"], fields["away_team_id"]) == (game.id, game.home, game.away)
        assert (fields["period"], fields["clock"], fields["clock_s"]) == ("H1", "12:30", 750.0)
        assert (fields["stale"], fields["verdict"]) == (False, "live")
        rows = json.loads(get(page, "/feed.json")[2])
        totals = game.play_by_play.totals()
        shown_points = {(row["team_id"], row["player_id"] or 0): row["PTS"] for row in rows if row["PTS"]}
        assert shown_points == {key: line["PTS"] for key, line in totals.items() if "PTS" in line}
        assert rows[0]["team_id"] == game.home
        roster = {player.id: str(player.jersey_number) for player in game.service.season.players if player.team_id == game.home}
        home_rows = [row for row in rows if row["team_id"] == game.home and row["player_id"] is not None]
        assert home_rows
        assert {row["player_id"]: row["jersey"] for row in home_rows} == {row["player_id"]: roster[row["player_id"]] for row in home_rows}
        assert [row["player"] for row in rows if row["player_id"] is None] == ["Team total"] * 2


def test_csv_and_xml_have_the_rows_of_json() -> None:
    with on_air() as (_, page):
        game_state, feed, table, tree = (get(page, path) for path in ("/score.json", "/feed.json", "/feed.csv", "/feed.xml"))
        rows = json.loads(feed[2])
        names = list(rows[0])
        expected = [["" if value is None else json.dumps(value) if not isinstance(value, str) else value for value in row.values()] for row in rows]
        assert list(csv.reader(io.StringIO(table[2].decode()))) == [names, *expected]
        root = ElementTree.fromstring(tree[2])
        assert [[(field.tag, field.text or "") for field in row] for row in root] == [list(zip(names, row, strict=True)) for row in expected]
        assert root.attrib == {name: str(json.loads(game_state[2])[name]).replace("False", "false") for name in ("stale", "updated_at", "verdict")}
        assert [response[1]["Content-Type"].partition(";")[0] for response in (feed, table, tree)] == ["application/json", "text/csv", "application/xml"]


def test_lxml_reads_the_feed() -> None:
    with on_air() as (_, page):
        root = library("lxml.etree").fromstring(get(page, "/feed.xml")[2])
        assert len(root) == len(json.loads(get(page, "/feed.json")[2]))


@pytest.mark.source
def test_the_documentation_has_every_field() -> None:
    tables = re.findall(r"\| field \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"))
    documented_fields = [dict(re.findall(r"\| `?(.*?)`? \| (.*) \|", table)) for table in tables]
    assert documented_fields == [SCORE_FIELDS, FEED_FIELDS]
    codes = [name for name in sideline.LiveBoxScore().table().column_names if name.isupper()]
    with on_air() as (_, page):
        [row, *_] = json.loads(get(page, "/feed.json")[2])
        assert list(row) == [name for field in FEED_FIELDS for name in (codes if field == STAT_CODES else [field])]


def test_a_document_that_did_not_change_is_not_sent_again() -> None:
    with on_air() as (game, page):
        for path in ("/score.json", "/feed.json", "/feed.csv", "/feed.xml"):
            status, headers, body = get(page, path)
            assert (status, headers["Cache-Control"]) == (200, "no-store")
            assert get(page, path, If_None_Match=f'"other", W/{headers["ETag"]}')[::2] == (304, b"")
            assert get(page, path, If_None_Match='"other"')[::2] == (200, body)
        before = get(page, "/score.json")[1]["ETag"]
        game.summary("12:29.0")
        until(lambda: get(page, "/score.json", If_None_Match=before)[0] == 200)


# What may be missing.


def test_a_feed_says_stale_until_its_start_is_over() -> None:
    with games() as (game, client):
        # No state of the service may come before the first look at the feed.
        hang, opened_at = game.service.faults.add("catch_up", times=1, delay=2.0), time.monotonic()
        with client.live(game.id).serve(feed=True) as page:
            status, headers, body = get(page, "/feed.json")
            assert (status, headers["Sideline-Verdict"], headers["Sideline-Stale"], json.loads(body)) == (200, "stale", "true", [])
            assert get(page, "/healthz")[0] == HTTPStatus.SERVICE_UNAVAILABLE
            game.service.live.wait_for_connections(1)
            game.play_to(2)
            until(lambda: not score(page)["stale"])
            assert time.monotonic() - opened_at > 2.0
            assert hang.count == 1
            assert get(page, "/healthz")[0] == 200


@pytest.mark.parametrize("is_read", [False, True])
def test_a_feed_has_what_happened_between_its_seed_and_its_connection(is_read: bool) -> None:
    with games() as (game, client), client.live(game.id) as stream:
        if is_read:
            assert isinstance(next(stream), sideline.live.Connected)
        box = sideline.LiveBoxScore()
        for team in (game.home, game.away):
            box.seed(client.team_game_stats(team, game_id=game.id))
        game.play_to(3)
        with stream.serve(box, feed=True) as page:
            game.service.live.wait_for_connections(1)
            game.summary()
            until(lambda: score(page)["home_points"] is not None and score(page)["verdict"] == "live", 8)
            assert (score(page)["home_points"], score(page)["away_points"]) == (game.points(game.home), game.points(game.away))
            assert stream.stats.recovered == 1


def test_a_feed_without_recovery_is_live_once_the_service_has_sent_its_state() -> None:
    with games() as (game, client), client.live(game.id, recover="off").serve(feed=True) as page:
        game.service.live.wait_for_connections(1)
        game.play_to(2)
        assert until(lambda: score(page)["verdict"] == "live") > 1.0


def test_a_gap_is_stale_within_a_second_and_current_once_it_is_closed() -> None:
    with on_air() as (game, page):
        hang = game.service.faults.add("catch_up", times=1, delay=2.0)
        refusal_of_streams = game.service.live.refuse(503)
        game.service.live.cut()
        assert until(lambda: score(page)["verdict"] == "stale", 5) < 1.5, "a second of lost connection, and the poll"
        assert score(page)["stale"]
        status, _, body = get(page, "/healthz")
        assert status == HTTPStatus.SERVICE_UNAVAILABLE
        assert set(json.loads(body)) == {"lag_s", "open_gaps", "reconnects", "buffer_bytes", "unreadable", "since_update_s"}
        game.play_to(7)
        game.service.faults.remove(refusal_of_streams)
        until(lambda: json.loads(get(page, "/healthz")[2])["open_gaps"] == 1)
        assert score(page)["stale"], "the gap is open while REST hangs"
        until(lambda: score(page)["verdict"] == "live")
        assert hang.count == 1
        assert (score(page)["home_points"], score(page)["away_points"]) == (game.points(game.home), game.points(game.away))
        assert json.loads(get(page, "/healthz")[2])["reconnects"] == 1


@pytest.mark.parametrize("options", [{}, {"delay_s": 0.2}])
def test_a_feed_whose_reader_has_failed_is_not_live(options: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", f"/journals/{TOKEN}")

    with on_air(**options) as (game, page):
        until(lambda: score(page)["verdict"] == "live")
        before = score(page)["home_points"]
        monkeypatch.setattr(page, "_on_item", fail)
        game.play_to(6)
        until(lambda: score(page)["verdict"] == "stale", 2)
        assert (score(page)["stale"], get(page, "/feed.json")[1]["Sideline-Stale"]) == (True, "true")
        status, _, body = get(page, "/healthz")
        assert (status, json.loads(body)["error"]) == (HTTPStatus.SERVICE_UNAVAILABLE, "the page no longer reads the stream: OSError")
        assert TOKEN.encode() not in body
        with pytest.raises(OSError, match="No space left"):
            page.wait(5)
        game.play_to(8)
        time.sleep(0.5)
        assert score(page)["home_points"] in (before, before + 1, before + 2, before + 3), "the item that failed may be shown"
        assert (score(page)["verdict"], get(page, "/healthz")[0]) == ("stale", 503)
        state = page_state(page)
        assert (state["stale"], "No space left" in state["error"]) == (True, True)


@pytest.mark.parametrize("delay_s", [0.0, 1.0])
def test_the_page_and_its_feed_agree_on_whether_values_may_be_missing(delay_s: float) -> None:
    is_stale_at = []

    def compare(page: LivePage, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            views = [page._game.view()["stale"], page._game.documents()[1]["stale"], page._game.view()["stale"]]
            assert views[1] in (views[0], views[2]), is_stale_at
            is_stale_at.append(views[1])
            time.sleep(0.001)

    with games() as (game, client):
        with client.live(game.id, retry_wait=0.3, max_wait=0.3) as stream, stream.serve(feed=True, delay_s=delay_s) as page:
            compare(page, delay_s + 0.1)
            game.service.live.wait_for_connections(1)
            game.play_to(2)
            compare(page, delay_s + 1.0)
            assert not is_stale_at[-1]
            game.service.live.refuse(503, times=1)
            game.service.live.cut()
            compare(page, delay_s + 1.0)
            stream.close()
            compare(page, delay_s + 0.2)
            assert is_stale_at[-1], "the stream has ended before the game"
            assert page_state(page)["stale"]


UNUSUAL_VALUES: list[Any] = [1, 0, -1, "1", "x", "", None, True, 1.5, 1e300, 10**20, [], {}, "Q3", "9:59.0", {"PTS": 1}, {"teamId": "1", "value": 5}]
NAMES = ["team_id", "player_id", "stats", "version", "occurred_at", "period", "game_clock", "teams"]
NAMES += ["home_team_id", "away_team_id", "home_score", "homeTeamScore", "home_timeouts_left", "type"]


def test_after_unusual_messages_the_page_and_its_feed_have_the_same_score() -> None:
    rng = random.Random(1)
    with on_air() as (game, page):
        until(lambda: score(page)["home_team_id"] == game.home)
        ids = [*UNUSUAL_VALUES, game.home, game.away]
        comparisons = 0
        for _ in range(300):
            message = {name: rng.choice(ids) for name in rng.sample(NAMES, rng.randrange(7))}
            game.service.live.send(message, source="x", **({"type": "stats"} if rng.random() < 0.5 else {}))
            before = page._game.view()
            responses, verdict = page._game.documents()
            seen = page._game.view()
            if before != seen:
                continue
            comparisons += 1
            fields, rows = (json.loads(responses[path].body) for path in ("/score.json", "/feed.json"))
            sides = {team["side"]: team for team in seen["teams"]}
            assert [sides[side]["score"] for side in ("home", "away")] == [fields["home_points"], fields["away_points"]]
            assert (seen["period"], seen["clock"], seen["stale"]) == (fields["period"], fields["clock"], verdict["stale"])
            shown_rows = sum(len(team["rows"]) + (team["total"] is not None) for team in seen["teams"])
            assert shown_rows + seen["left_out"] == len(rows)
        assert comparisons > 30


def test_a_view_that_fails_ends_the_reader_and_every_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no view")

    with on_air() as (_, page):
        monkeypatch.setattr(page._game, "view", fail)
        monkeypatch.setattr("threading.excepthook", lambda _: None)
        with pytest.raises(ValueError, match="no view"):
            page.wait(5)
        assert (score(page)["verdict"], get(page, "/healthz")[0]) == ("stale", 503)


def test_final_is_what_the_service_says() -> None:
    with on_air() as (game, page):
        game.summary("0.0", "H2")
        time.sleep(0.1)
        assert score(page)["verdict"] == "live", "a clock at 0 is not the end"
        game.end()
        until(lambda: score(page)["verdict"] == "final")
        # A connection that is lost after the end changes nothing that was said.
        game.service.live.refuse(503)
        game.service.live.cut()
        until(lambda: score(page)["stale"])
        assert score(page)["verdict"] == "final"


def test_a_restarted_feed_is_right_within_ten_seconds_and_stale_until_then(tmp_path: Path) -> None:
    with on_air() as (game, page):
        port = int(re.findall(r":(\d+)/", page.url)[0])
        page.close()
        with sideline.Client(**game.service.client_options()) as client:
            game.play_to(8)
            box = sideline.LiveBoxScore()
            for team in (game.home, game.away):
                box.seed(client.team_game_stats(team, game_id=game.id))
            start = time.monotonic()
            with client.live(game.id).serve(box, feed=True, port=port) as second_page:
                game.service.live.wait_for_connections(2)
                game.summary()
                while (fields := score(second_page))["stale"]:
                    assert time.monotonic() < start + 10
                    time.sleep(0.02)
                assert (fields["home_points"], fields["away_points"]) == (game.points(game.home), game.points(game.away))


# The delay.


def test_a_delayed_feed_shows_the_game_as_it_was_and_its_health_as_it_is() -> None:
    delay = 3.0
    with games() as (game, client), client.live(game.id, retry_wait=0.05, max_wait=0.1) as stream, ExitStack() as stack:
        box = sideline.LiveBoxScore()
        for team in (game.home, game.away):
            box.seed(client.team_game_stats(team, game_id=game.id))
        page = stack.enter_context(stream.serve(box, feed=True, delay_s=delay))
        game.service.live.wait_for_connections(1)
        connected = time.monotonic()
        game.play_to(2)
        game.summary()
        first = game.points(game.home)
        first_played = time.monotonic()
        assert (score(page)["home_points"], score(page)["verdict"]) == (None, "stale"), "seeded values wait too"
        assert json.loads(get(page, "/feed.json")[2]) == []
        until(lambda: get(page, "/healthz")[0] == 200)
        assert time.monotonic() < connected + delay, "health is not delayed"
        until(lambda: score(page)["home_points"] == first)
        assert delay - 0.2 < time.monotonic() - first_played < delay + 1.0
        until(lambda: score(page)["verdict"] == "live")
        game.play_to(4)
        second, second_played = game.points(game.home), time.monotonic()
        time.sleep(0.5)
        assert second not in points_on_page(page)
        assert first in points_on_page(page)
        assert score(page)["home_points"] == first
        until(lambda: score(page)["home_points"] == second)
        assert delay - 0.2 < time.monotonic() - second_played < delay + 0.5
        # A gap, too, shows at its own time.
        game.service.live.refuse(503)
        game.service.live.cut()
        cut_at = time.monotonic()
        until(lambda: get(page, "/healthz")[0] == HTTPStatus.SERVICE_UNAVAILABLE)
        assert score(page)["verdict"] == "live"
        until(lambda: score(page)["stale"])
        assert delay + 0.5 < time.monotonic() - cut_at < delay + 2.0


def test_health_counts_unreadable_rows_at_once_and_the_page_shows_them_late() -> None:
    with games() as (game, client), client.live(game.id) as stream, stream.serve(feed=True, delay_s=60) as page:
        game.service.live.wait_for_connections(1)
        game.service.live.send({"team_id": game.home, "player_id": 7, "stats": {"PTS": "x"}, "version": 1}, source="stats", type="stats")
        until(lambda: json.loads(get(page, "/healthz")[2])["unreadable"] == 1, 5)
        assert page_state(page)["unreadable"] == 0


# Who may read it.


@pytest.mark.parametrize(
    ("host", "name", "is_own"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "192.168.1.5", False),
        ("127.0.0.1", "evil.example", False),
        ("0.0.0.0", "192.168.1.5", True),
        ("0.0.0.0", "evil.example", False),
        ("studio.example", "studio.example", True),
        ("studio.example", "evil.example", False),
        ("::1", "::1", True),
    ],
)
def test_a_name_of_another_site_leads_nowhere(host: str, name: str, is_own: bool) -> None:
    assert PageOptions(host, 8000, TOKEN, has_feed=True).is_own(name) == is_own


@pytest.mark.parametrize(
    ("path", "query", "site", "status"),
    [
        ("/score.json", f"token={TOKEN}", None, None),
        ("/overlay", f"team=home&token={TOKEN}", "cross-site", None),
        ("/score.json", f"token={TOKEN}", "cross-site", HTTPStatus.FORBIDDEN),
        ("/score.json", "token=wrong", None, HTTPStatus.FORBIDDEN),
        ("/score.json", "", None, HTTPStatus.FORBIDDEN),
        ("/", "", None, HTTPStatus.FORBIDDEN),
        ("/healthz", "", None, HTTPStatus.FORBIDDEN),
        ("/other", f"token={TOKEN}", None, HTTPStatus.NOT_FOUND),
    ],
)
def test_each_address_needs_the_token(path: str, query: str, site: str | None, status: HTTPStatus | None) -> None:
    assert refusal(path, query, ["127.0.0.1:8000"], None, site, PageOptions("0.0.0.0", 8000, TOKEN, has_feed=True), 8000) == status


def test_the_load_balancer_of_the_page_gets_an_answer() -> None:
    text = PAGE.read_text(encoding="utf-8")
    [(method, target, host)] = re.findall(r"http-check send meth (\S+) uri (\S+) hdr Host (\S+)`", text)
    [feed_host] = re.findall(r"http-request set-header Host (\S+)`", text)
    with on_air(host="0.0.0.0", token=TOKEN) as (_, page):
        port = int(re.findall(r":(\d+)/", page.address)[0])
        for path, name in ((target, host), ("/feed.json?token=…", feed_host)):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
                connection.request(method, path.replace("…", TOKEN), headers={"Host": name.replace("8080", str(port))})
                assert connection.getresponse().status in (HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE)


def test_another_host_needs_a_token_and_no_text_shows_it() -> None:
    with games() as (game, client), client.live(game.id) as stream:
        with pytest.raises(ValueError, match="give a token= too"):
            stream.serve(host="0.0.0.0", feed=True)
        with pytest.raises(ValueError, match="token must have at least 16") as error:
            stream.serve(host="0.0.0.0", token="canary", feed=True)
        assert "canary" not in str(error.value)
        with stream.serve(host="0.0.0.0", token=TOKEN, feed=True) as page:
            assert get(page, f"/score.json?token={TOKEN}")[0] == 200
            status, _, body = get(page, "/score.json")
            assert (status, b"give the token" in body) == (403, True)
            assert f"?token={TOKEN}" in page.url
            assert TOKEN not in repr(page) + page._repr_html_() + page.address


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
def test_a_host_that_is_no_address_of_this_machine_is_named(host: str) -> None:
    with sideline.Client(api_key="k") as client, pytest.raises(OSError, match=rf"host '{re.escape(host)}' is no address of this machine: "):
        client.live_stats("g1").serve(host=host, token=TOKEN)
    with pytest.raises(ValueError, match="host is empty: leave it out, or write 0.0.0.0 for every address of this machine"):
        PageOptions(host="", token=TOKEN)


def test_there_is_no_feed_unless_it_is_wanted() -> None:
    with games() as (game, client), client.live(game.id).serve() as page:
        assert [get(page, path)[0] for path in FEED_PATHS] == [404] * len(FEED_PATHS)


@pytest.mark.parametrize("delay", [-1.0, 3601.0, float("nan")])
def test_a_delay_that_cannot_be_is_refused(delay: float) -> None:
    with games() as (game, client), client.live(game.id) as stream, pytest.raises(ValueError, match="delay_s is"):
        stream.serve(delay_s=delay)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--feed"], "--feed needs --serve"),
        (["--delay", "8"], "--delay needs --serve"),
        (["--serve", "--host", "0.0.0.0"], "give a token= too"),
        (["--serve", "--feed", "--delay", "-1"], "delay_s is -1"),
    ],
)
def test_the_command_refuses_what_cannot_be(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDELINE_USERNAME", "ann")
    monkeypatch.setenv("SIDELINE_SECRET", "secret-17")
    with pytest.raises(SystemExit) as exit_info:
        raise SystemExit(main(["live", "g1", *arguments]))
    assert exit_info.value.code == 2
    assert problem in capsys.readouterr().err


# The overlay.


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as tab:
        tab.resize(1280, 720)
        yield tab


@needs_browser
def test_the_overlay_shows_the_score_over_a_transparent_page(tab: Tab, tmp_path: Path) -> None:
    with on_air() as (game, page):
        tab.complaints.clear()
        tab.open(f"{page.url}overlay")
        expected = [str(int(game.points(team))) for team in (game.home, game.away)]
        tab.wait(f"JSON.stringify([...document.querySelectorAll('.points')].map(one => one.innerText)) === '{json.dumps(expected, separators=(',', ':'))}'")
        assert tab.run("document.querySelector('[data-field=clock]').innerText") == "12:30"
        assert (
            tab.run("[getComputedStyle(document.body), getComputedStyle(document.documentElement)].map(one => one.backgroundColor)") == ["rgba(0, 0, 0, 0)"] * 2
        )
        assert tab.run("document.querySelector('.hint').hidden")
        names = [team.name for team in game.service.season.teams if team.id in (game.home, game.away)]
        assert sorted(tab.run("[...document.querySelectorAll('.team')].map(one => one.innerText)")) == sorted(names)
        for colour, name in (({"r": 0, "g": 160, "b": 60, "a": 1}, "green"), ({"r": 0, "g": 0, "b": 0, "a": 0}, "transparent")):
            tab.send("Emulation.setDefaultBackgroundColorOverride", color=colour)
            tab.screenshot(tmp_path / f"overlay-{name}.png")
        tab.open(f"{page.url}overlay?team=away&style=lower")
        tab.wait("document.body.className === 'lower shown'")
        assert tab.run("[...document.querySelectorAll('.team')].filter(one => !one.hidden).length") == 1
        tab.open(f"{page.url}overlay?team={game.home}")
        tab.wait("document.body.className === 'bug shown'")
        assert tab.run("document.querySelector('.home').hidden") is False
        assert tab.complaints == []
        # Values that are not current are marked, and the clock is hidden.
        tab.open(f"{page.url}overlay")
        game.service.live.refuse(503)
        game.service.live.cut()
        tab.wait("document.body.className && !document.querySelector('.hint').hidden")
        assert tab.run("document.querySelector('[data-field=clock]').hidden")
        tab.screenshot(tmp_path / "overlay-stale.png")


@needs_browser
def test_the_overlay_of_a_final_score_says_that_values_may_be_missing(tab: Tab) -> None:
    with on_air() as (game, page):
        tab.open(f"{page.url}overlay")
        game.end()
        tab.wait("document.querySelector('[data-field=period]').innerText === 'Final'")
        assert tab.run("document.querySelector('.hint').hidden")
        game.service.live.refuse(503)
        game.service.live.cut()
        until(lambda: score(page)["stale"])
        assert score(page)["verdict"] == "final"
        tab.wait("!document.querySelector('.hint').hidden")
        assert tab.run("document.querySelector('[data-field=period]').innerText") == "Final"


@needs_browser
def test_the_overlay_says_that_its_server_is_gone_and_finds_it_again(tab: Tab) -> None:
    with on_air() as (game, page):
        port = int(re.findall(r":(\d+)/", page.url)[0])
        tab.open(f"{page.url}overlay")
        tab.wait("document.body.className.includes('shown') && document.querySelector('.hint').hidden")
        page.close()
        tab.wait("!document.querySelector('.hint').hidden")
        with sideline.Client(**game.service.client_options()) as client, client.live(game.id).serve(feed=True, port=port):
            game.service.live.wait_for_connections(2)
            game.play_by_play.play(20)
            game.summary()
            tab.wait("document.querySelector('.hint').hidden", 20)
        tab.open("about:blank")
        tab.complaints.clear()


@needs_browser
def test_the_overlay_reads_with_its_token_and_shows_names_as_text(tab: Tab) -> None:
    hostile = "<img src=x onerror='window.pwned=1'>"
    with games() as (game, client), client.live(game.id).serve(feed=True, token=TOKEN) as page:
        game.service.live.wait_for_connections(1)
        teams = [{"id": team, "name": hostile, "player_stats": []} for team in (game.home, game.away)]
        game.service.live.send(
            {"home_team_id": game.home, "away_team_id": game.away, "home_score": 3, "away_score": 2, "teams": teams}, source="broadcastsummary"
        )
        tab.open(f"{page.address}overlay?token={TOKEN}")
        tab.wait("document.querySelector('.team').innerText.startsWith('<img')")
        assert tab.run("[window.pwned, document.images.length]") == [None, 0]


@pytest.mark.parametrize("feed", [False, True])
def test_a_page_of_a_stream_without_notices_is_refused_as_it_could_not_say_that_it_is_stale(feed: bool) -> None:
    with Service(seed=1) as second, sideline.Client(**second.client_options()) as client:
        for stream in (client.live("g", notices=False), client.live_stats("g", notices=False)):
            with pytest.raises(ValueError, match="without notices=False"):
                stream.serve(feed=feed)
            assert stream.state == "new"
