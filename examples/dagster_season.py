"""A Dagster asset: the archive of a season, synced every morning.

    dagster asset materialize -f examples/dagster_season.py --select season
    dagster dev -f examples/dagster_season.py

It reads SIDELINE_USERNAME and SIDELINE_SECRET, SEASON_ARCHIVE (a folder or bucket, default `season`) and SEASON_START (default
`2026-09-01`). A hole fails the run after everything else is stored, so a retry requests only what is missing. Requires dagster.
"""

import os
from datetime import UTC, datetime

import dagster as dg

import sideline


@dg.asset(retry_policy=dg.RetryPolicy(max_retries=2, delay=600))
def season(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Sync the season, and report what is missing, corrected or unknown."""
    with sideline.Client() as client:
        archive = sideline.Archive(os.environ.get("SEASON_ARCHIVE", "season"), client)
        try:
            report = archive.sync(
                start=os.environ.get("SEASON_START", "2026-09-01"), end=datetime.now(UTC), progress=False
            )
        except sideline.IncompleteSync as error:
            for hole in error.report.holes:
                context.log.warning("%s is %s: %s", hole["unit"], hole["status"], hole["error"])
            raise
    return dg.MaterializeResult(
        metadata={
            "corrections": report.corrections.num_rows,
            "unknown_fields": report.drift.num_rows,
            "games": archive.info().games,
        }
    )


every_morning = dg.ScheduleDefinition("every_morning", target=[season], cron_schedule="15 6 * * *")

defs = dg.Definitions(assets=[season], schedules=[every_morning])
