"""How long a change takes from the service to `/score.json`, and what polls cost the stream.

    .venv/bin/python benches/feed_lag.py --seconds 600

The second service of the tests sends two to ten messages a second. `sideline live --serve --feed` reads them in a process of its own,
and five programs poll it, 10,000 times a minute together. A change is seen once the first of them has its response. The same minute is
measured again with a single poll a second, for the lag of the stream and the processor time of the page.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from service import Features, PlayedGame, Service

POLLERS = 5
POLLS_PER_MINUTE = 10_000


class Poller(threading.Thread):
    """Reads the score at an interval, and notes when it saw each mark first."""

    def __init__(self, port: int, interval: float, seen: dict[str, float], ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port, self.interval, self.seen, self.ended, self.count = port, interval, seen, ended, 0

    def run(self) -> None:
        due = time.perf_counter() + random.uniform(0, self.interval)
        while not self.ended.wait(max(0.0, due - time.perf_counter())):
            due += self.interval
            period = get(self.port, "/score.json")["period"]
            self.seen.setdefault(period, time.perf_counter())
            self.count += 1


def get(port: int, path: str) -> dict[str, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", path)
        return dict(json.loads(connection.getresponse().read()))


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(
    service: Service,
    game: PlayedGame,
    page: subprocess.Popen[str],
    port: int,
    seconds: float,
    pollers: int,
    interval: float,
) -> None:
    seen: dict[str, float] = {}
    sent: dict[str, float] = {}
    ended = threading.Event()
    threads = [Poller(port, interval, seen, ended) for _ in range(pollers)]
    before = processor_seconds(page.pid)
    for thread in threads:
        thread.start()
    begun, lags, dice = time.perf_counter(), [], random.Random(1)
    while time.perf_counter() - begun < seconds:
        game.play()
        mark = f"m{time.perf_counter_ns()}"
        # When the last byte was written.
        service.live.send(
            {"home_team_id": 1, "away_team_id": 2, "period": mark, "game_clock": "10:00.0"}, source="broadcastsummary"
        )
        sent[mark] = time.perf_counter()
        lags.append(get(port, "/healthz")["lag_s"])
        time.sleep(dice.uniform(0.1, 0.5))
    time.sleep(2)
    ended.set()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begun
    delays = [(seen[mark] - at) * 1000 for mark, at in sent.items() if mark in seen]
    polls = sum(thread.count for thread in threads)
    used = processor_seconds(page.pid) - before
    print(
        f"{pollers} pollers, {polls / took * 60:.0f} polls a minute, {len(sent)} changes in {took:.0f} s, {len(delays)} seen: "
        f"after {percentile(delays, 0.5):.1f} ms (median), {percentile(delays, 0.99):.1f} ms (99 %), {max(delays):.1f} ms (most); "
        f"lag of the stream {percentile(lags, 0.99) * 1000:.1f} ms (99 %); processor {used / took * 100:.1f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    seconds = parser.parse_args().seconds
    features = Features(subscription_token=True, catch_up=True)
    with Service(
        seed=1, teams=2, games=1, practices=0, upcoming=0, sessions=(4, 4), possessions=600, features=features
    ) as service:
        game = PlayedGame(service, service.season.games[0], is_numbered=False)
        options = service.client_options()
        environment = {f"SIDELINE_{name.upper()}": str(value) for name, value in options.items()}
        command = [sys.executable, "-m", "sideline", "live", game.event.id, "--serve", "--feed"]
        with subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True) as page:
            try:
                assert page.stdout is not None
                port = int(page.stdout.readline().rstrip("/\n").rpartition(":")[2])
                service.live.wait_for_connections(1)
                measure(service, game, page, port, min(60, seconds), 1, 1.0)
                measure(service, game, page, port, seconds, POLLERS, 60 * POLLERS / POLLS_PER_MINUTE)
            finally:
                page.terminate()


if __name__ == "__main__":
    main()
