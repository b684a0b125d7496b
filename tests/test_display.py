"""The display of a stream: in a real notebook kernel, and without one."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from needs import library

import sideline
from sideline.live._display import View, describe_notice
from streams import HEAD, Server, server

OVERSIZED_REASON = "an oversized message of 20000000 bytes was skipped: max_event_bytes is 16777216"


def stats(player: int, points: int, version: int) -> bytes:
    """A message as the event stream has it (specification 6.1)."""
    data = {"occurred_at": 1, "team_id": 1, "player_id": player, "stats": {"PTS": points}, "version": version}
    return b"data: " + json.dumps({"type": "stats", "data": data}).encode() + b"\n\n"


def then_hold(servers: list[Server], data: bytes) -> Callable[[socket.socket], None]:
    def connection(to: socket.socket) -> None:
        to.sendall(HEAD + data)
        servers[0].hold(to)

    return connection


@contextmanager
def holding(data: bytes) -> Iterator[Server]:
    """A service that sends this and then keeps the connection open; it notices when the connection ends."""
    servers: list[Server] = []
    with server([then_hold(servers, data)]) as host:
        servers.append(host)
        yield host


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Where there is no notebook.


def test_lines_tell_what_happens_and_the_box_score_comes_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with holding(stats(11, 5, 1) + stats(12, 3, 2)) as host, host.client() as client:
        stream = client.live_stats("g1")
        start = time.monotonic()
        with interrupt_after(0.7):
            stream.display(every=0.1)
        assert time.monotonic() - start < 15
        assert stream.state == "closed"
        assert host.closed.wait(2), "the connection is open still"
    out = capsys.readouterr().out.splitlines()
    # A busy machine may have received both by then.
    assert re.fullmatch(r"live_stats g1: (new|connecting|connected); [012] updates", out[0])
    assert any(re.fullmatch(r"\d\d:\d\d:\d\dZ connected", line) for line in out)
    assert any(re.fullmatch(r"live_stats g1: connected; 2 updates, the last \d\d:\d\d:\d\dZ", line) for line in out)
    head, first, second = (line.split() for line in out[-3:])
    assert head[:3] == ["team_id", "player_id", "PTS"]
    assert {tuple(first[:3]), tuple(second[:3])} == {("1", "11", "5"), ("1", "12", "3")}
    # A line where something came, and not for each look.
    assert len(out) <= 8


def test_doubts_and_every_row_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the terminal and the page show them: a gap that nothing closes, and two teams of football's size."""
    lines = [{"id": player, "stats": {"PTS": 1}} for player in range(1, 51)]
    document = {"teams": [{"id": team, "player_stats": lines} for team in (1, 2)]}
    with holding(b"data: %s\n\n" % json.dumps(document).encode()) as host, host.client() as client:
        with client.live_stats("g1").record(tmp_path / "g.journal") as stream:
            next(stream), next(stream)
        journal_bytes = (tmp_path / "g.journal").read_bytes()
    (tmp_path / "g.journal").write_bytes(journal_bytes[:-20])
    sideline.replay(tmp_path / "g.journal", speed=None).display()
    out = capsys.readouterr().out.splitlines()
    assert any("; 1 gap, 1 open; values may be missing" in line for line in out)
    assert [line.split()[:2] for line in out[-100:]] == [[str(team), str(player)] for team in (1, 2) for player in range(1, 51)]


def test_a_stream_that_was_entered_stays_open() -> None:
    with holding(stats(11, 5, 1)) as host, host.client() as client, client.live_stats("g1") as stream:
        with interrupt_after(0.4):
            stream.display(every=0.1)
        assert stream.state == "connected"
        assert not host.closed.is_set()


def test_a_stream_that_ends_ends_the_display_and_the_score_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with holding(stats(11, 5, 1) + stats(11, 7, 2)) as host, host.client() as client:
        with client.live_stats("g1").record(tmp_path / "g.journal") as stream:
            for _ in range(3):
                next(stream)
    score = sideline.LiveBoxScore()
    sideline.replay(tmp_path / "g.journal", speed=None).display(score)
    assert [(row["player_id"], row["PTS"]) for row in score.table().to_dicts()] == [(11, 7.0)]
    assert "closed; 2 updates" in capsys.readouterr().out


def test_an_error_of_the_stream_is_shown_and_raised(capsys: pytest.CaptureFixture[str]) -> None:
    refusal = b'HTTP/1.1 401 X\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{"message":"no k"}'
    with server([lambda to: to.sendall(refusal)]) as host, host.client() as client:
        with pytest.raises(sideline.AuthenticationError):
            client.live_stats("g1").display(every=0.1)
    out = capsys.readouterr().out
    assert "live_stats g1: closed" in out
    assert "canary" not in out


def test_a_refresh_that_never_comes_is_refused() -> None:
    with pytest.raises(ValueError, match="every is 0; it must be more than 0"):
        sideline.Client(api_key="k").live_stats("g1").display(every=0)


@pytest.mark.parametrize("show", ["display", "serve"])
def test_a_score_of_another_type_is_refused_before_an_item_is_taken(show: str) -> None:
    with holding(stats(11, 5, 1)) as service, service.client() as client:
        stream = client.live_stats("g1")
        with pytest.raises(TypeError, match=r"^score is a sideline.LiveBoxScore, not str$"):
            getattr(stream, show)("x")
        assert stream.state == "new"


def test_a_script_prints_and_does_not_need_ipython(service: sideline.Simulator, tmp_path: Path) -> None:
    code = """
import sys, sideline
from sideline.live import LiveStream
with sideline.Client() as client:
    with client.live_stats(sys.argv[1]).record(sys.argv[2]) as stream:
        for item in stream:
            if isinstance(item, sideline.Update): break
    sideline.replay(sys.argv[2], speed=None).display()
assert "IPython" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, service.games[0]["event_id"], str(tmp_path / "g.journal")], env=service.environ, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "closed; 1 update" in done.stdout


# What is seen.


@pytest.mark.parametrize(
    ("notice", "line"),
    [
        (sideline.live.Connected(datetime(2027, 3, 1, 12, tzinfo=UTC)), "12:00:00Z connected"),
        (
            sideline.live.Disconnected(datetime(2027, 3, 1, 12, tzinfo=UTC), "reset", None, 0, datetime(2027, 3, 1, 12, 0, 5, tzinfo=UTC)),
            "12:00:00Z disconnected: reset; again at 12:00:05Z",
        ),
        (sideline.live.Disconnected(datetime(2027, 3, 1, 12, tzinfo=UTC), "refused", 401, 1, None), "12:00:00Z disconnected: refused"),
        (
            sideline.live.Gap(datetime(2027, 3, 1, 12, tzinfo=UTC), datetime(2027, 3, 1, 12, 0, 7, tzinfo=UTC), "reset"),
            "12:00:00Z to 12:00:07Z: messages may be missing (reset)",
        ),
        (sideline.live.Gap(datetime(2027, 3, 1, 12, tzinfo=UTC), None, "reset"), "12:00:00Z to the end: messages may be missing (reset)"),
        *(
            (sideline.live.Gap(datetime(2027, 3, 1, 12, tzinfo=UTC), datetime(2027, 3, 1, 12, tzinfo=UTC), reason, dropped), line)
            for reason, dropped, line in (
                ("overflow", 1, "12:00:00Z to 12:00:00Z: 1 update dropped, not taken in time"),
                ("overflow", 2000, "12:00:00Z to 12:00:00Z: 2,000 updates dropped, not taken in time"),
                ("damaged", None, "12:00:00Z to 12:00:00Z: messages may be missing (damaged)"),
                ("torn", None, "12:00:00Z to 12:00:00Z: messages may be missing (torn)"),
                (OVERSIZED_REASON, 1, f"12:00:00Z to 12:00:00Z: messages may be missing ({OVERSIZED_REASON})"),
                ("\x1b[31m\n" + "x" * 200, None, "12:00:00Z to 12:00:00Z: messages may be missing (\\x1b[31m\\n" + "x" * 113 + "…)"),
            )
        ),
        (sideline.live.Quiet(datetime(2027, 3, 1, 12, tzinfo=UTC)), "12:00:00Z quiet since then"),
    ],
)
def test_a_notice_is_a_line(notice: sideline.live.Notice, line: str) -> None:
    assert describe_notice(notice) == line


def test_a_seeded_box_score_brings_the_names_and_who_has_none_is_shown_by_the_id(
    service: sideline.Simulator, client: sideline.Client, game: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = game["game_attributes"]["home_team_id"]
    payload = client.team_game_stats(home, game_id=game["id"])
    line = next(line for line in payload.table("box_score").to_dicts() if line["last_name"])
    data = stats(99, 2, 10**9) + stats(98, 1, 10**9)
    with holding(data) as host, host.client() as other, other.live_stats("g1").record(tmp_path / "g.journal") as stream:
        for _ in range(3):
            next(stream)
    sideline.replay(tmp_path / "g.journal", speed=None).display(sideline.LiveBoxScore(payload))
    lines = capsys.readouterr().out.splitlines()
    assert any(row.split()[:3] == ["team_name", "player_id", "last_name"] for row in lines)
    assert any(str(line["player_id"]) in row and line["last_name"] in row for row in lines)
    assert any(row.split()[0] == "99" for row in lines)


def test_text_from_the_service_is_escaped_in_the_page() -> None:
    data = b'data: {"n":"<script>alert(1)</script>"}\n\n'
    with holding(data) as host, host.client() as client, client.live_stats("g1") as stream:
        view = View(stream, sideline.LiveBoxScore())
        view.add(next(stream))
        view.add(next(stream))
        page = view.html()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>" not in page
    assert re.search(r"\d\d:\d\d:\d\dZ connected", page)


# A notebook: a real kernel, and no substitute.


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    home = tmp_path_factory.mktemp("kernel")
    manager = library("jupyter_client").KernelManager(kernel_name="python3")
    environment = {**os.environ, "IPYTHONDIR": str(home), "JUPYTER_RUNTIME_DIR": str(home), "HOME": str(home)}
    manager.start_kernel(env=environment, cwd=str(home))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


class Cell:
    """A cell that runs: the pages it showed, and how it ended."""

    def __init__(self, kernel: Any, code: str) -> None:
        self.kernel = kernel
        self.id = kernel.execute(code)
        self.first: list[str] = []
        self.updates: list[str] = []
        self.out = ""
        self.failed = ""
        self.is_finished = False

    def read(self, until: Callable[[Cell], bool], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not until(self):
            assert time.monotonic() < end, (self.out, self.failed, self.updates[-1:])
            try:
                message = self.kernel.get_iopub_msg(timeout=0.2)
            except Empty:
                continue
            if message["parent_header"].get("msg_id") != self.id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind in ("display_data", "update_display_data"):
                (self.first if kind == "display_data" else self.updates).append(content["data"]["text/html"])
            elif kind == "stream":
                self.out += content["text"]
            elif kind == "error":
                self.failed = "\n".join(content["traceback"])
            elif kind == "status" and content["execution_state"] == "idle":
                self.is_finished = True


def test_in_a_notebook_one_table_refreshes_and_the_stop_button_ends_it(kernel: tuple[Any, Any]) -> None:
    manager, client = kernel
    data = b"".join(stats(11, points, points) for points in range(1, 300))
    with holding(data) as host:
        cell = Cell(
            client,
            "import sideline, threading\n"
            f"client = sideline.Client(api_key='canary-key', broadcast_base_url={host.base_url!r})\n"
            "stream = client.live_stats('g1')\n"
            "stream.display(every=0.2)\n"
            "print('then', stream.state)",
        )
        cell.read(lambda cell: any("299" in page for page in cell.updates))
        assert "connected; 299 updates" in cell.updates[-1]
        assert "<td>299</td>" in cell.updates[-1]
        start = time.monotonic()
        manager.interrupt_kernel()
        cell.read(lambda cell: cell.is_finished)
        assert time.monotonic() - start < 20
        assert host.closed.wait(20), "the connection is open still"
    assert (cell.out, cell.failed) == ("then closed\n", "")
    assert len(cell.first) == 1
    assert "closed; 299 updates" in cell.updates[-1]
    # So many updates, and few refreshes.
    assert len(cell.updates) < 30
    assert "canary" not in "".join(cell.first + cell.updates)


def test_in_a_notebook_the_box_score_of_a_played_game_is_the_rest_apis(kernel: tuple[Any, Any]) -> None:
    manager, client = kernel
    with sideline.Simulator(seed=11, teams=4, games=8, now="2027-03-01T12:00:00Z") as season, season.client() as rest_client:
        game = season.games[-1]
        cell = Cell(
            client,
            f"import os; os.environ.update({season.environ!r})\n"
            "import sideline\n"
            "score = sideline.LiveBoxScore()\n"
            f"with sideline.Client() as client: client.live({game['event_id']!r}, sources=['stats']).display(score, every=0.2)\n"
            "print(sorted((row['player_id'], row['PTS']) for row in score.table().to_dicts() if row['PTS']))",
        )
        cell.read(lambda cell: bool(cell.first))
        season.play(game["event_id"], speed=3000.0)
        time.sleep(2.5)
        teams = [rest_client.team_game_stats(game[side], game_id=game["event_id"]) for side in ("home_team_id", "away_team_id")]
        cell.read(lambda cell: len(cell.updates) > 5)
        manager.interrupt_kernel()
        cell.read(lambda cell: cell.is_finished)
    assert cell.failed == ""
    expected = sorted((row["player_id"], row["PTS"]) for team in teams for row in team.table("box_score").to_dicts() if row["PTS"])
    assert len(expected) > 8
    assert cell.out.strip() == repr(expected)
    assert cell.updates[-1].count("<tr>") > 10
