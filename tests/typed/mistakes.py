"""Mistakes of a user. mypy and pyright refuse each line with the comment "refused", and no other."""

from datetime import timedelta

import sideline
from sideline import metrics, typing


def wrong_archive(archive: sideline.Archive, client: sideline.Client) -> None:
    archive.scan("shot")  # refused
    archive.to_arrow("shot")  # refused
    archive.delta("shot")  # refused
    archive.files("shot")  # refused
    archive.rebuild("coverage")  # refused
    archive.sync(["a-team"], start="2026-11-01")  # refused
    archive.sync("2026-11-01", "2026-12-01")  # refused
    archive.sync(start="2026-11-01", tables=["shot"])  # refused
    archive.sync(start="2026-11-01", tables="shot")  # refused
    archive.sync(start="2026-11-01", correction_window="7 days")  # refused
    archive.sync(start="2026-11-01", on_error="ignore")  # refused
    archive.as_of("2026-11-01").scan("shot")  # refused
    archive.status(correction_window=None)  # refused
    archive.vacuum(retain="7d")  # refused
    archive.export("duckdb:///a.duckdb", schema="replace")  # refused
    archive.corrections().filter(field="status")  # refused
    client.plan("shot", start="2026-11-01")  # refused
    sideline.Archve("season")  # refused
    sideline.errors.NotFond  # refused  # noqa: B018
    sideline.live.Gapp  # refused  # noqa: B018
    typing.TableNames  # refused  # noqa: B018


def wrong_rows(client: sideline.Client, payload: sideline.Payload) -> None:
    sideline.Payload.from_bytes("statz", b"")  # refused
    sideline.Payload.from_bytes("stats", "{}")  # refused
    metrics.minutes(5)  # refused
    metrics.minutes(5, possessions=payload)  # refused
    metrics.per_36(payload, 5)  # refused
    metrics.ratings(payload).filter(team_id=1)  # refused
    metrics.pace(payload, per="game")  # refused
    metrics.lineups(payload, size="five")  # refused
    sideline.audit(player_stats=5)  # refused
    sideline.audit(details=payload)  # refused
    sideline.audit(player_stats=payload).rules_run  # refused  # noqa: B018
    sideline.clips(5, payload)  # refused
    sideline.moments(5, payload)  # refused
    sideline.moments(payload, payload, before="3s")  # refused
    sideline.crosswalk(payload, 5)  # refused
    client.box_score("a-game").to_list()  # refused
    client.box_score("a-game", True)  # refused
    payload.table(tz=5)  # refused
    client.live_stats("a-game", silence_limit="30s")  # refused
    client.live_stats("a-game", silence=30)  # refused
    for item in client.live_stats("a-game", notices=False):
        print(item.text, item.gap)  # refused
    sideline.Timeout(total="60")  # refused
    sideline.Client(timeout="1m")  # refused
    client.teams(timeout=timedelta)  # refused
    sideline.Simulator().faults.unusd  # refused  # noqa: B018


def wrong_errors(batch: sideline.IncompleteBatch, sync: sideline.IncompleteSync, either: sideline.IncompleteError) -> None:
    batch.report  # refused  # noqa: B018
    sync.batch  # refused  # noqa: B018
    either.batch  # refused  # noqa: B018


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
