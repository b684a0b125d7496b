"""How late a stream's updates are while recovery's requests hang, over real sockets: `python benches/live_lag.py --seconds 60`.

The second service of the tests sends a message every 20 ms and cuts the stream every 1.5 s; each cut leaves a gap whose requests hang
for longer than the run. A lag is the time from the call that sends a message until the reader has the update.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from service import Features, PlayedGame, Service

import sideline

EVERY_S, CUT_EVERY_S = 0.02, 1.5


def produce(service: Service, ended: threading.Event) -> None:
    """Send messages with the time at which they are sent, and cut the stream, until the run has ended."""
    cut_at = time.monotonic() + CUT_EVERY_S
    while not ended.wait(EVERY_S):
        service.live.send({"sent": time.monotonic()}, source="clock")
        if time.monotonic() > cut_at:
            service.live.cut()
            cut_at = time.monotonic() + CUT_EVERY_S


def lags(recover: Literal["auto", "off"], seconds: float) -> tuple[list[float], int]:
    """The lag of each update in milliseconds, in ascending order, and the number of gaps."""
    features = Features(subscription_token=True, catch_up=True)
    with Service(seed=1, teams=2, games=1, practices=0, upcoming=0, features=features) as service:
        service.faults.add("catch_up", delay=10 * seconds)
        game, ended, found = PlayedGame(service, service.season.games[0]), threading.Event(), []
        with (
            sideline.Client(**service.client_options()) as client,
            client.live(game.event.id, recover=recover, retry_wait=0.05) as stream,
        ):
            producer = threading.Thread(target=produce, args=(service, ended))
            end = time.monotonic() + seconds
            for item in stream:
                now = time.monotonic()
                if isinstance(item, sideline.live.Connected) and not producer.ident:
                    producer.start()
                if isinstance(item, sideline.Update):
                    found.append(1000 * (now - item.to_dict()["data"]["sent"]))
                if now > end:
                    break
            ended.set()
            producer.join()
            return sorted(found), stream.stats.gaps


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds: float = parser.parse_args().seconds
    modes: tuple[Literal["auto", "off"], ...] = ("off", "auto")
    for recover in modes:
        found, gaps = lags(recover, seconds)
        p50, p99 = (found[int(part * len(found))] for part in (0.5, 0.99))
        print(
            f'recover="{recover}": {len(found)} updates, {gaps} gaps; lag p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {found[-1]:.1f} ms'
        )


if __name__ == "__main__":
    main()
