"""Mistakes of a user. mypy and pyright refuse each line that says so, and no other."""

import sideline


def wrong(client: sideline.Client, stream: sideline.LiveStream) -> None:
    client.stats()  # refused
    client.schedule(1.5)  # refused
    client.teams().table().rows  # refused  # noqa: B018
    client.live_stats("a-game", overflow="oldest")  # refused
    sideline.Client(usrname="analyst")  # refused
    sideline.Clinet()  # refused
    sideline.Simulator(7, now=None, port="8080")  # refused
    print(client.teams().raw, stream.stats.updates)
    for item in stream:
        print(item.text)  # refused


async def not_awaited(client: sideline.AsyncClient) -> None:
    client.teams().table()  # refused
    (await client.teams()).table()
