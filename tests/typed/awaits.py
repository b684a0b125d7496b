"""A user's script with the asynchronous client: checked by mypy and pyright, both strict."""

import asyncio
from typing import assert_type

import sideline


async def send_requests(client: sideline.AsyncClient, session_ids: tuple[str, str]) -> sideline.Table:
    teams, shots = await asyncio.gather(client.teams(), client.shots(session_ids[0]))
    assert_type(teams, sideline.Payload)
    assert_type(shots, sideline.Payload)
    stats = await client.stats(session_ids[1])
    assert_type(stats, sideline.Payload)
    assert_type(await client.subscription_token("a-game"), str)
    assert_type(await client.find_player("vance", team_id=[1, 2]), sideline.Table)
    return stats.table("player_stats")


async def watch(client: sideline.AsyncClient, game_id: str) -> int:
    count = 0
    async with client.live(game_id, sources=["stats"]) as stream:
        assert_type(stream, sideline.LiveStream)
        async for item in stream:
            if isinstance(item, sideline.Update):
                assert_type(item.seq, int | None)
                count += 1
    async for table in client.live_stats(game_id).batches(max_rows=10):
        assert_type(table, sideline.Table)
    return count


async def plan(client: sideline.AsyncClient) -> int:
    season_plan = await client.plan("shots", start="2026-11-01", team_ids=[1])
    assert_type(season_plan, sideline.Plan)
    assert_type(await client.season("2026-27").plan("shots"), sideline.Plan)
    height: int = client.scan("shots", start="2026-11-01").collect().height
    with sideline.Client() as waiting:
        assert_type(waiting.season(2026).plan("shots"), sideline.Plan)
        for part in season_plan.split(4):
            assert_type(part, sideline.Part)
            assert_type(part.read(waiting), sideline.Table)
    return height


async def main() -> None:
    async with sideline.AsyncClient(max_concurrency=4) as client:
        assert_type(client, sideline.AsyncClient)
        await send_requests(client, ("one", "two"))
        await plan(client)
        await asyncio.wait_for(watch(client, "a-game"), timeout=10)
