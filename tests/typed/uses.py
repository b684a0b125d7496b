"""Right uses: mypy and pyright accept each line."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import numpy
import polars

import sideline
from sideline import archive, batch, cli, court, doctor, errors, journal, live, metrics, simulator
from sideline.typing import ArchiveTable, ClientOptions, Duration, Ids, OnError, ProgressOption, Sport, SyncTable, TableName, Time, Violations

OPTIONS: ClientOptions = {"username": "a", "timeout": timedelta(seconds=9)}
TABLE: TableName = "shots"
ARCHIVE_TABLE: ArchiveTable = "coverage"
SYNC_TABLE: SyncTable = "shots"
SPORT: Sport = "football"
ERROR: OnError = "keep"


def calls(client: sideline.Client, games: Ids, start: Time, wait: Duration, progress: ProgressOption) -> None:
    print(client.teams(timeout=9), client.teams(timeout=timedelta(seconds=9)))
    print(client.teams(timeout=sideline.Timeout(connect=timedelta(seconds=9), total=wait)))
    print(client.schedule(start), client.schedule(date(2026, 11, 1), datetime(2026, 12, 1, tzinfo=UTC)))
    print(client.schedule("2026-11-01", 1_793_534_400_000, sport=SPORT))
    print(client.game(games), client.game(["a", "b"], on_error=ERROR, progress=progress))
    print(client.stats("a").table("box_score", columns="PTS").to_pandas())
    print(client.stats(["a", "b"]).table("box_score", ["PTS"], names=True, tz="Europe/Berlin"))
    print(client.stats(polars.Series(["a"])), client.stats(numpy.array(["a"])))
    print(client.stats(client.game("g")), client.shots(range(3)))
    print(client.box_score("g").to_polars(), client.box_score("g", periods=True, timeout=wait).to_dicts())
    print(client.find_team("mariners")["name"], client.team_events(client.find_team("mariners"), start, start))
    print([update.to_dict() for update in client.live_stats("1", notices=False, silence_limit=wait)])
    print([type(item).__name__ for item in client.live_stats("1", quiet_after=timedelta(minutes=1))])
    print(client.plan(TABLE, start="2026-11-01").table, client.scan("shots", game_ids=["g"]).collect())
    print(client.catch_up("g", resources="stats"), client.catch_up("g", resources=["stats", "shots"]))
    print(sideline.Client(**OPTIONS), sideline.AsyncClient(**OPTIONS))
    print(sideline.Payload.from_bytes("stats", b"{}", session_id="s", sport=SPORT).tables)
    print(sideline.SCHEMAS[TABLE].names, sideline.SCHEMAS["game_box_score"]["PTS"].description)


def store(season: sideline.Archive, client: sideline.Client) -> None:
    report = season.sync(start="2026-11-01", tables=SYNC_TABLE, correction_window=86_400)
    print(report.holes, season.sync(game_ids="g", tables=["shots", "teams"], correction_window=None).complete)
    print(season.sync(team_ids=client.teams(), start="2026-11-01", correction_window=timedelta(days=3)).drift)
    print(season.scan("shots").collect(), season.scan(ARCHIVE_TABLE).collect())
    print(season.corrections().to_polars().height, season.corrections(since="2026-11-01")["field"])
    print(season.status(correction_window=3600.0).num_rows, season.vacuum(retain=86_400), season.vacuum(retain=timedelta(1)))
    print(season.as_of("2026-11-01").scan("box_score").collect(), season.files("shots"))
    season.rebuild("shots")


def answer_questions(client: sideline.Client, payload: sideline.Payload) -> None:
    print(metrics.minutes(payload)["minutes"], metrics.minutes(payload.to_polars()).height)
    print(metrics.minutes(payload.to_pandas()).columns, metrics.pace([payload, payload], by="game_id").num_rows)
    print(metrics.per_36(payload, payload, stats="PTS").column_names, metrics.usage(payload, payload.table()).to_pandas())
    print(metrics.ratings(payload.to_polars().lazy(), payload).height)
    print(payload.to_polars().select(metrics.true_shooting()), metrics.true_shooting(payload).num_rows)
    violations: Violations = sideline.audit(player_stats=payload, stat_events=[payload, payload], sessions=payload.table())
    print([rule.rule for rule in violations.rules if rule.is_run], [rule.rule for rule in sideline.audit.rules()])
    print(sideline.clips(payload, []).to_dicts(), sideline.clips(payload.to_polars(), [], before=timedelta(seconds=3)))
    print(sideline.moments(payload, payload).num_rows, sideline.moments(payload.to_pandas(), payload, after=2.5).columns)
    print(sideline.crosswalk(payload, polars.DataFrame({"name": ["Ann"]})).num_rows)
    print(sideline.crosswalk(payload.to_pandas(), payload.to_pandas(), name=["first", "last"]).shape)
    print(sideline.plot.shot_chart(payload, kind="hexbin"), court.PRO.arc)


def catch(client: sideline.Client, season: sideline.Archive) -> None:
    try:
        season.sync(start="2026-11-01")
    except sideline.IncompleteSync as error:
        print(error.report.holes)
    except sideline.IncompleteBatch as error:
        print(error.batch.coverage, error.batch.counts)
    except errors.IncompleteError as error:
        print(error.advice)


def modules(path: str, stream: sideline.LiveStream) -> None:
    print(archive.SyncReport, batch.Batch, cli.main, doctor.Report, journal.replay, live.Gap, simulator.Faults)
    print(sideline.errors.NotFound, sideline.live.Connected, sideline.simulator.Simulator, sideline.typing.TableName)
    print(sideline.replay(path, None, max_pause=timedelta(seconds=1)), stream.batches(max_seconds=timedelta(seconds=1)))
    print(stream.record(path, sync_every=None), isinstance(next(stream), (live.Gap, live.Quiet)))


async def wait(client: sideline.AsyncClient) -> None:
    print((await client.box_score("g")).num_rows, (await client.stats(["a"])).coverage)
    print([update.text async for update in client.live_stats("1", notices=False)])
    await asyncio.sleep(0)


def test_a_fault(sideline_simulator: sideline.Simulator, sideline_client: sideline.Client) -> None:
    sideline_simulator.faults.add("*/shots", status=500)
    assert sideline_simulator.faults.unused == []
    assert sideline_client.teams().status == 200
