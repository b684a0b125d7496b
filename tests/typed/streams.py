"""A user's script that reads live streams: checked by mypy and pyright, both strict."""

import datetime
from pathlib import Path
from typing import assert_type

import sideline


def describe(item: sideline.Update | sideline.live.Notice) -> str:
    match item:
        case sideline.Update():
            assert_type(item.received_at, datetime.datetime)
            return item.text
        case sideline.live.Disconnected():
            assert_type(item.retry_at, datetime.datetime | None)
            return item.reason
        case sideline.live.Gap():
            return f"{item.start} to {item.end}"
        case sideline.live.Connected():
            return f"{item.at}"
        case sideline.live.Quiet():
            return f"{item.since}"
        case _:
            return "a notice of a later version"


def watch(client: sideline.Client, game_id: str, journal: Path) -> sideline.Table:
    score = sideline.LiveBoxScore(client.team_game_stats(1, game_id=game_id))
    with client.live_stats(game_id, overflow="latest").record(journal) as stream:
        assert_type(stream, sideline.LiveStream)
        for item in stream:
            print(describe(item))
            assert_type(score.feed(item), bool)
            if stream.stats.updates > 10 or stream.state == "closed":
                break
    for table in sideline.replay(journal, None).batches(max_rows=100, table="stat_updates"):
        assert_type(table, sideline.Table)
    print(describe(next(sideline.replay(journal, speed=None))))
    with sideline.replay(journal).serve(score, port=0) as page:
        assert_type(page, sideline.live.LivePage)
        assert_type(page.url, str)
        assert_type(page.wait(timeout=0.1), bool)
    return score.table()
