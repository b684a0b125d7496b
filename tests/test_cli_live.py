"""`sideline live`: lines for scripts, a scoreboard in a terminal, a page for browsers."""

from __future__ import annotations

import http.client
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from needs import needs
from service import Service

import sideline
from sideline.cli import main
from sideline.cli._live import score_so_far

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")

WITHOUT_RICH = "import sys; sys.modules['rich'] = None; from sideline.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def played_game() -> Iterator[tuple[dict[str, str], str, list[str]]]:
    """The environment that leads to a game that was played to its end, its id and its scores."""
    with sideline.Simulator(seed=11, teams=4, games=8, now="2027-03-01T12:00:00Z") as season, season.client() as client:
        game = season.games[-1]
        with client.live(game["event_id"], sources=["marker"]) as stream:
            season.play(game["event_id"], speed=None)
            next(item for item in stream if isinstance(item, sideline.Update) and "GAME_ENDED" in item.text)
        totals = [client.team_game_stats(game[side], game_id=game["event_id"]).table("box_score").to_dicts()[0] for side in ("home_team_id", "away_team_id")]
        yield {**os.environ, **season.environ}, game["event_id"], [f"{row['team_name']} {row['PTS']:g}" for row in totals]


@contextmanager
def start(env: dict[str, str], *arguments: str, **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process of Python that does not outlive the test."""
    with subprocess.Popen([sys.executable, *arguments], env=env, **options) as running:
        try:
            yield running
        finally:
            running.kill()


PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


ANSI = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


def in_terminal(env: dict[str, str], *command: str, until: list[str]) -> tuple[str, int]:
    """Runs a command in a terminal of 150 columns until it has written all texts, interrupts it, and returns its output and status."""
    import fcntl
    import pty
    import struct
    import termios

    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 120, 150, 0, 0))
    written, end = b"", time.monotonic() + 60
    with start({**env, "TERM": "xterm"}, *command, stdin=terminal, stdout=terminal, stderr=terminal) as running:
        os.close(terminal)
        while running.poll() is None or select.select([controller], [], [], 0)[0]:
            assert time.monotonic() < end, written
            if select.select([controller], [], [], 0.2)[0]:
                try:
                    written += os.read(controller, 65536)
                except OSError:  # Linux, when the other side is closed
                    break
            plain = ANSI.sub("", written.decode(errors="replace"))
            if until and all(text in plain for text in until):
                running.send_signal(signal.SIGINT)
                until = []
        status = running.wait(timeout=60)
    os.close(controller)
    return written.decode(), status


@needs("rich")
def test_a_terminal_shows_the_score_and_ends_cleanly(played_game: tuple[dict[str, str], str, list[str]]) -> None:
    env, game, scores = played_game
    out, status = in_terminal(env, "-m", "sideline", "live", game, until=[*scores, "ended"])
    assert status == 0, out
    last = ANSI.sub("", out).rpartition(scores[0])
    assert last[1], out
    assert scores[1] in last[2].splitlines()[0]
    assert re.search(r"Team +\d+ +\d+", last[2])
    assert "connected" in last[2]
    assert "\x1b[?25h" in out, "the cursor is shown again"
    assert "Traceback" not in out


@pytest.mark.parametrize(
    "command",
    [["-c", WITHOUT_RICH, "live"], ["-m", "sideline", "live", "--json"]],
    ids=["without rich", "json"],
)
def test_a_terminal_shows_lines_without_rich_and_for_json(played_game: tuple[dict[str, str], str, list[str]], command: list[str]) -> None:
    env, game, _ = played_game
    out, status = in_terminal(env, *command, game, until=['"source":"clock"' if "-c" in command else '"source": "clock"'])
    assert status == 0
    assert "\x1b" not in out
    assert out.count('"marker"') > 2
    assert ('for a box score on the screen: pip install "sideline[cli]"' in out) == ("-c" in command)


def test_scripts_get_lines_by_either_name_of_the_game(played_game: tuple[dict[str, str], str, list[str]]) -> None:
    env, game, _ = played_game
    for arguments in ([game], ["--game-id", game]):
        with start(env, "-m", "sideline", "live", *arguments, **PIPES) as running:
            line = next(line for line in running.stdout if " marker 1 " in line)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=60)
        assert re.match(r'\d\d:\d\d:\d\dZ marker 1 \{"type":"marker",', line)
        assert (running.returncode, "connected" in errors) == (0, True)


def test_a_page_is_served_until_the_command_is_stopped(played_game: tuple[dict[str, str], str, list[str]]) -> None:
    env, game, _ = played_game
    with start(env, "-m", "sideline", "live", game, "--serve", **PIPES) as running:
        match = re.fullmatch(r"http://(127\.0\.0\.1:\d+)/\n", running.stdout.readline())
        assert match is not None
        assert "connected" in running.stderr.readline()
        connection = http.client.HTTPConnection(match[1], timeout=30)
        connection.request("GET", "/")
        assert b"<title>Live game</title>" in connection.getresponse().read()
        connection.close()
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=60)
    assert (running.returncode, out, errors) == (0, "", "")


def test_the_box_score_so_far_brings_names_and_without_it_the_game_is_shown(
    service: sideline.Simulator, client: sideline.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = score_so_far(client, service.games[0]["event_id"]).table().to_dicts()
    assert len({row["team_id"] for row in rows}) == 2
    assert all(row["last_name"] for row in rows if not row["is_team_total"])
    assert capsys.readouterr().err == ""
    assert score_so_far(client, "no-such-game").table().num_rows == 0
    assert "sideline: names of players may be missing: " in capsys.readouterr().err
    assert score_so_far(client, None).table().num_rows == 0


@pytest.mark.parametrize(
    ("operation", "change", "rows", "has_error"),
    [
        ("game", lambda body: body | {"game_attributes": "x"}, 0, True),
        ("game", lambda body: [body], 22, False),
        ("game", lambda body: {"events": [body]}, 22, False),
        ("game", lambda body: body | {"game_attributes": body["game_attributes"] | {"home_team_id": 1.5}}, 0, True),
        ("game", lambda body: body | {"game_attributes": body["game_attributes"] | {"away_team_id": None}}, 11, False),
        ("team_game_stats", lambda body: body | {"teams": "x"}, 11, True),
        ("roster", lambda body: body | {"players": [{"id": "x"}]}, 22, True),
    ],
)
def test_an_invalid_value_costs_no_more_of_the_box_score_so_far_than_its_body(
    operation: str, change: Callable[[Any], Any], rows: int, has_error: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with Service(seed=1, teams=2, games=1, practices=0, upcoming=0, sessions=(2, 2)) as service, sideline.Client(**service.client_options()) as client:
        service.faults.add(operation, change=change, times=1)
        score = score_so_far(client, service.season.games[0].id)
    assert score.table().num_rows == rows
    assert capsys.readouterr().err.count("sideline: names of players may be missing: ") == has_error


def test_a_page_that_cannot_be_served_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], service: sideline.Simulator) -> None:
    for name, value in service.environ.items():
        monkeypatch.setenv(name, value)
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert main(["live", "g1", "--serve", "--port", str(port)]) == 1
    assert f"sideline: [Errno 98] port {port} is in use; choose another one" in capsys.readouterr().err.replace("Errno 48", "Errno 98")


@pytest.mark.parametrize("arguments", [["g1", "--port", "8000"], [], ["g1", "--game-id", "g1"], ["g1", "--schedule-id", "g1"], ["g1", "--serve", "--json"]])
def test_wrong_usage_exits_with_2(arguments: list[Any]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["live", *arguments])
    assert error.value.code == 2
