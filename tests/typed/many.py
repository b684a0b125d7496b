"""A user's script that requests many ids: checked by mypy and pyright, both strict."""

from typing import assert_type

import polars

import sideline


def print_progress(progress: sideline.Progress) -> None:
    print(f"{progress.done} of {progress.total}")


def holes(batch: sideline.Batch) -> int:
    return len(batch.errors)


def fetch(client: sideline.Client, session_ids: list[str]) -> sideline.Table:
    assert_type(client.stats(session_ids[0]), sideline.Payload)
    batch = client.stats(session_ids, on_error="keep", progress=print_progress)
    assert_type(holes(batch), int)
    assert_type(batch.counts, dict[str, int])
    assert_type(batch.to_polars("box_score"), polars.DataFrame)
    for payload in batch:
        assert_type(payload, sideline.Payload)
    if not batch.complete:
        print(batch.retry().complete)
    shots = client.shots(polars.Series(session_ids))
    try:
        shots.raise_if_incomplete()
    except sideline.IncompleteBatch as error:
        print(error)
    return batch.coverage


async def ask_at_once(client: sideline.AsyncClient, game_ids: tuple[str, ...]) -> int:
    assert_type(await client.game(game_ids[0]), sideline.Payload)
    batch = await client.game(game_ids)
    assert_type(batch.table(), sideline.Table)
    second = await batch.retry(on_error="keep")
    return len(second)
