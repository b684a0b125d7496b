"""Each bound of memory in docs/limits.md holds in a process that is flooded, and those of time where much is sent."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import pytest

import sideline
from bounds import BOUNDS, Bound, measure
from streams import server, then_hold

PAGE = Path(__file__).parents[1] / "docs" / "limits.md"

pytestmark = pytest.mark.timeout(120)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process as Linux shows it")
@pytest.mark.parametrize("flood", BOUNDS, ids=lambda case: case.flood)
def test_a_flooded_process_stays_within_the_bound(flood: Bound) -> None:
    assert measure(flood) <= flood.allowed_mib


@pytest.mark.source
def test_the_page_has_the_measured_peak_of_each_bound() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").partition("## Measured")[2].splitlines() if line.startswith("| ")][1:]
    assert [row.rsplit("|", 3)[0] for row in rows] == [f"| {case.flood} | {case.limit} " for case in BOUNDS]


def test_a_message_with_an_unreadable_row_takes_little_time_however_many_rows_it_has() -> None:
    rows = [{"team_id": 1, "player_id": number, "stats": {"PTS": "many" if number == 7 else 2}} for number in range(100_000)]
    event = f"data: {json.dumps({'type': 'stats', 'data': rows})}\n\n"
    score = sideline.LiveBoxScore()
    with server([then_hold(event.encode())]) as service, service.client() as client, client.live_stats("g", notices=False) as stream:
        update = next(stream)
        start = time.process_time()
        score.feed(update)
        seconds = time.process_time() - start
    assert score.unreadable and seconds < 1, (score.unreadable, seconds)


def test_a_large_file_that_is_no_journal_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "game.journal"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(random.randbytes(1 << 20))
    start = time.process_time()
    with pytest.raises((OSError, ValueError, sideline.SidelineError)):
        list(sideline.replay(path))
    assert time.process_time() - start < 1


def long_name(rows: int) -> bytes:
    of_rows = ",".join(f'{{"id":{number},"stats":{{"PTS":1}}}}' for number in range(rows))
    return b'{"teams":[{"id":1,"name":"%s","player_stats":[%s]}]}' % (b"x" * 34_000_000, of_rows.encode())


def test_a_column_of_more_than_2_gib_of_text_is_refused_at_once() -> None:
    payload = sideline.Payload.from_bytes("stats", long_name(64), session_id="s")
    start = time.process_time()
    with pytest.raises(sideline.DecodeError, match="2 GiB of text in one column"):
        payload.table("player_stats")
    assert time.process_time() - start < 2
    assert len(payload.to_dict()["teams"][0]["player_stats"]) == 64


@pytest.mark.extended
def test_a_column_of_almost_2_gib_of_text_is_whole() -> None:
    names = sideline.Payload.from_bytes("stats", long_name(63), session_id="s").table("player_stats").to_arrow()["team_name"]
    assert len(names) == 63
    assert all(len(name.as_py()) == 34_000_000 for name in names)
