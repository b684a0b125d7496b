"""Mistakes of a user. mypy and pyright refuse each line that says so, and no other."""

import sideline


def wrong(client: sideline.Client, stream: sideline.LiveStream) -> None:
    client.stats()  # refused
    client.schedule(1.5)  # refused
    client.schedule("2026-11-01", sport="baseball")  # refused
    client.schedule("2026-11-01", season_type="PLAYOFFS")  # refused
    client.matchup(46, "2026-11-01", reference="NCAA", gender="MIXED")  # refused
    client.matchup(46, "2026-11-01", gender="MEN")  # refused
    client.catch_up("a-game", ["shots", "videos"])  # refused
    client.stats(["a", "b"], on_error="ignore")  # refused
    client.stats(["a", "b"]).raw  # refused  # noqa: B018
    client.stats("a-session").coverage  # refused  # noqa: B018
    client.shots("a-session").table("shotz")  # refused
    client.shots(["a", "b"]).to_polars("shotz")  # refused
    client.scan("shotz", start="2026-11-01")  # refused
    client.teams().table().rows  # refused  # noqa: B018
    client.teams(timeout="10s")  # refused
    client.live_stats("a-game", overflow="oldest")  # refused
    sideline.Client(usrname="analyst")  # refused
    sideline.Client(environment="prod")  # refused
    sideline.Client(sport="baseball")  # refused
    sideline.AsyncClient(api_key_in="body")  # refused
    sideline.Clinet()  # refused
    sideline.Simulator(7, now=None, port="8080")  # refused
    sideline.Simulator(sport="hockey")  # refused
    sideline.Simulator().client(max_retrys=5)  # refused
    print(client.teams().raw, stream.stats.updates)
    for name in client.teams().tables:
        print(client.teams().table(name), sideline.SCHEMAS[name])
    for item in stream:
        print(item.text)  # refused


async def not_awaited(client: sideline.AsyncClient) -> None:
    client.teams().table()  # refused
    client.stats(["a", "b"]).coverage  # refused  # noqa: B018
    (await client.stats(["a", "b"])).retry().complete  # refused  # noqa: B018
    (await client.teams()).table()
