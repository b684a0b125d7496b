"""What a sync holds between fetching and storing: chunks, their bounds, and what is kept where it ends early."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from archives import Body, Fetched, Outcome, Unit, archive_with, settings, small_season

import sideline
from sideline.archive._pipeline import Pipeline


def fetched(*sizes: int, cause: Exception | None = None) -> list[Fetched]:
    def outcome(size: int) -> Outcome:
        body = None if cause else Body(bytes(size))
        return Outcome(Unit("stats", str(size)), "failed" if cause else "fetched", datetime.now(UTC), body=body, cause=cause)

    return [Fetched("stats", size, lambda size=size: outcome(size)) for size in sizes]  # type: ignore[misc]


class ChunkRecorder:
    def __init__(self) -> None:
        self.chunks: list[tuple[list[str], Sequence[int]]] = []
        self.errors: Iterator[Exception | None] = iter(())

    def __call__(self, outcomes: list[Outcome], parts: Sequence[int]) -> None:
        if error := next(self.errors, None):
            raise error
        self.chunks.append(([outcome.unit.id for outcome in outcomes], parts))


def run(recorder: ChunkRecorder, *steps: list[Fetched], error: BaseException | None = None, **quantities: Any) -> None:
    with Pipeline(recorder, settings(**quantities)) as steps_of_sync:
        for step in steps:
            steps_of_sync.add(step, [])
        if error:
            raise error


def test_a_body_is_held_compressed_and_is_the_same_afterwards() -> None:
    raw = b'{"teams": [1, 2, 3]}' * 10_000
    body = Body(raw)
    assert (body.raw, body.size, body.id) == (raw, len(raw), hashlib.sha256(raw).hexdigest()[:32])
    assert len(body._compressed_body) < len(raw) / 10
    assert Body.of(b"") is None


def test_a_chunk_ends_with_the_step_that_fills_it() -> None:
    recorder = ChunkRecorder()
    with Pipeline(recorder, settings(max_chunk_units=3, max_chunk_bytes=1_000)) as steps:
        for step in (fetched(1), fetched(2), fetched(3, 4), fetched(999), fetched(1_000), fetched(5)):
            steps.add(step, [])
        steps.add(fetched(6), [7, 8])
        steps.add(fetched(9), [])
    assert recorder.chunks == [(["1", "2", "3", "4"], []), (["999", "1000"], []), (["5", "6"], [7, 8]), (["9"], ())]


def test_what_the_lists_have_is_in_the_first_chunk_and_fills_chunks_of_its_own_where_it_is_much() -> None:
    small = settings(min_chunk_units=3, max_chunk_units=3)
    for number, chunks in ((0, ["8"]), (2, ["0", "1", "8"]), (3, ["0", "1", "2"]), (4, ["0", "1", "2"])):
        recorder = ChunkRecorder()
        with Pipeline(recorder, small, first=(item.read() for item in fetched(*range(number)))) as steps:
            steps.add(fetched(8), [])
        assert recorder.chunks[0] == (chunks, [] if number == 2 else ())
        assert [name for names, _ in recorder.chunks for name in names] == [*map(str, range(number)), "8"]
    recorder = ChunkRecorder()
    with Pipeline(recorder, small, first=(item.read() for item in fetched(1, 2))):
        pass
    assert recorder.chunks == [(["1", "2"], ())]


def test_chunks_grow_with_what_was_stored() -> None:
    recorder = ChunkRecorder()
    run(recorder, *(fetched(1) for _ in range(60)), min_chunk_units=4, max_chunk_units=10)
    assert [len(ids) for ids, _ in recorder.chunks] == [4, 4, 4, 6, 9, 10, 10, 10, 3]


def test_a_sync_of_few_units_is_one_chunk() -> None:
    small = settings(min_chunk_units=2, max_chunk_units=6)
    for units, sizes in ((5, [5]), (6, [6]), (7, [2, 2, 2, 1])):
        recorder = ChunkRecorder()
        with Pipeline(recorder, small, units=units) as steps:
            for _ in range(units):
                steps.add(fetched(1), [])
        assert [len(ids) for ids, _ in recorder.chunks] == sizes


def test_leases_are_released_where_nothing_is_left_to_store() -> None:
    recorder = ChunkRecorder()
    with Pipeline(recorder, settings()) as steps:
        steps.add([], [3])
    assert recorder.chunks == [([], [3])]


def test_what_is_held_is_stored_where_the_sync_is_interrupted() -> None:
    recorder = ChunkRecorder()
    with pytest.raises(KeyboardInterrupt):
        run(recorder, fetched(1, 2), error=KeyboardInterrupt())
    assert recorder.chunks == [(["1", "2"], ())]


def test_an_error_of_a_body_or_of_the_disk_ends_the_sync() -> None:
    def unreadable() -> Outcome:
        raise MemoryError

    recorder = ChunkRecorder()
    with pytest.raises(MemoryError):
        run(recorder, fetched(1), [*fetched(2), Fetched("stats", 1, unreadable), *fetched(3)], fetched(4), max_chunk_units=1)
    assert recorder.chunks == [(["1"], []), (["2"], ())]

    recorder = ChunkRecorder()
    recorder.errors = iter([OSError("no space left"), None])
    with pytest.raises(OSError, match="no space left"):
        run(recorder, *(fetched(1) for _ in range(4)), max_chunk_units=1)
    assert recorder.chunks == []


def test_a_service_that_cannot_be_reached_ends_the_sync_and_loses_nothing_that_was_fetched() -> None:
    recorder = ChunkRecorder()
    with pytest.raises(sideline.ConnectError):
        run(recorder, fetched(1), fetched(2, 3, cause=sideline.ConnectError("connection refused")))
    assert [ids for ids, _ in recorder.chunks] == [["1", "2", "3"]]


def test_a_sync_in_small_chunks_is_the_same(tmp_path: Path) -> None:
    with small_season() as season, season.client() as client:
        names = ("stat_events", "box_score", "possessions", "shots")
        games = [game["event_id"] for game in season.games[:3]]
        reference, small = sideline.Archive(tmp_path / "whole", client), archive_with(tmp_path / "small", client, max_chunk_units=5)
        for archive in (reference, small):
            archive.sync(game_ids=games, tables=names)
        for name in names:
            rows = [sorted(map(repr, archive.to_arrow(name).to_pylist())) for archive in (reference, small)]
            assert rows[0] == rows[1]
            assert rows[0]


def test_a_report_lists_the_events_in_their_order_whatever_was_fetched_first(tmp_path: Path) -> None:
    with small_season() as season, season.client() as client:
        tipoffs = {game["event_id"]: game["tipoff_at"] for game in season.games}
        reports = []
        for archive in (sideline.Archive(tmp_path / "large", client), archive_with(tmp_path / "small", client, max_step_bytes=1)):
            report = archive.sync(game_ids=list(tipoffs)[:4], tables=["shots", "player_stats"])
            reports.append([row["game_id"] for row in report.coverage.to_dicts() if row["session_id"]])
        assert reports[0] == reports[1]
        times = [tipoffs[game] for game in reports[0]]
        assert len(set(times)) == 4
        assert times == sorted(times)
