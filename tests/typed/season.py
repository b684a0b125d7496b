"""A user's script that keeps a season: checked by mypy and pyright, both strict."""

import datetime
from pathlib import Path
from typing import assert_type

import polars

import sideline


def keep(client: sideline.Client, folder: Path) -> polars.DataFrame:
    archive = sideline.Archive(folder, client)
    report = archive.sync(team_ids=[1001, 1002], start="2026-11-01", end=datetime.date(2027, 4, 10))
    assert_type(report, sideline.archive.SyncReport)
    assert_type(report.coverage, sideline.Table)
    report.raise_if_incomplete()
    now = datetime.datetime.now(datetime.UTC)
    assert_type(archive.corrections(since=now), sideline.Table)
    assert_type(archive.as_of(now).scan("shots"), polars.LazyFrame)
    violations: sideline.Table = archive.audit()
    print(violations)
    assert_type(archive.info().games, int)
    print(archive.sql("select count(*) from shots"), archive.delta("shots").version())
    return archive.scan("box_score").select("team_id", "PTS").collect()
