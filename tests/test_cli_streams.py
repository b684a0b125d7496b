"""`sideline live` and `sideline record`: what they print, and how they end if a service refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from service import Features, PlayedGame, Service

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

GAMES = {"schedule": ["--schedule-id", "g1"], "game": ["--game-id", "g1"]}


def start_command(command: str, game: str, service: Service, tmp_path: Path, *more: str) -> subprocess.Popen[str]:
    arguments = [*GAMES[game], *more, *([str(tmp_path / "game.journal")] if command == "record" else [])]
    env = {**os.environ, **service.environ}
    return subprocess.Popen([sys.executable, "-m", "sideline", command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


@pytest.mark.parametrize("command", ["live", "record"])
@pytest.mark.parametrize("game", GAMES)
def test_refused_credentials_end_the_command_with_1(command: str, game: str, tmp_path: Path) -> None:
    with Service(seed=3) as service:
        service.live.refuse(403, body={"message": "Forbidden"})
        service.faults.add("subscription_token", status=403, body={"message": "Forbidden"})
        with start_command(command, game, service, tmp_path) as running:
            _, errors = running.communicate(timeout=100)
    assert running.returncode == 1
    assert "403" in errors


@pytest.mark.parametrize("command", ["live", "record"])
def test_a_lasting_refusal_exits_with_1_when_the_command_is_stopped(command: str, tmp_path: Path) -> None:
    with Service(seed=3) as service:
        service.live.refuse(404)
        with start_command(command, "schedule", service, tmp_path) as running:
            assert running.stderr is not None
            # It reports the refusal at once and keeps running.
            first = next(line for line in running.stderr if "404" in line)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=100)
    assert "connected" in first
    assert running.returncode == 1
    assert "sideline: nothing was received: " in errors
    assert "404" in errors.splitlines()[-1]


@pytest.mark.parametrize(("command", "more"), [("live", ["--json"]), ("live", []), ("record", [])])
def test_a_stream_that_received_data_exits_with_0_even_if_it_then_fails(command: str, more: list[str], tmp_path: Path) -> None:
    with Service(seed=3) as service:
        with start_command(command, "schedule", service, tmp_path, *more) as running:
            service.live.wait_for_connections(1, timeout=100)
            service.live.send_event({"name": "\x1b[31mred"})
            service.live.refuse(404)
            if command == "live":
                assert running.stdout is not None
                line = running.stdout.readline()
                assert "\x1b" not in line
                assert "\\u001b[31mred" in line
                if more:
                    assert json.loads(line) == {"name": "\x1b[31mred"}
            service.live.cut()
            assert running.stderr is not None
            next(line for line in running.stderr if "404" in line)
            running.send_signal(signal.SIGINT)
            out, errors = running.communicate(timeout=100)
    assert running.returncode == 0, errors
    if command == "record":
        assert out.startswith("recorded 1 update")


def test_lines_of_json_have_the_state_that_was_requested_after_a_gap(tmp_path: Path) -> None:
    features = Features(subscription_token=True, catch_up=True)
    with Service(seed=3, teams=2, games=1, practices=0, upcoming=0, features=features) as service:
        game = PlayedGame(service, service.season.games[0], is_numbered=False)
        env = {**os.environ, **service.environ}
        command = [sys.executable, "-m", "sideline", "live", "--json", game.event.id]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as running:
            try:
                service.live.wait_for_connections(1, timeout=100)
                game.play(10)
                service.live.refuse(503, times=1)
                service.live.cut()
                game.play(5)
                assert running.stdout is not None
                documents = map(json.loads, running.stdout)
                lines = next(document["stats"] for document in documents if "stats" in document)
                running.send_signal(signal.SIGINT)
                running.communicate(timeout=100)
            finally:
                running.kill()
    points = {(int(line["tid"]), int(line["pid"])): line["totalStats"].get("PTS", 0) for line in lines}
    assert points == {player: game.totals().get(player, {}).get("PTS", 0) for player in points}
    assert sum(points.values()) == sum(stats.get("PTS", 0) for (_, player), stats in game.totals().items() if player)
