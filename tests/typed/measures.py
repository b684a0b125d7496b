"""A user's script that computes and draws: checked by mypy and pyright, both strict."""

from typing import assert_type

import polars
from matplotlib.axes import Axes

import sideline
from sideline import court, metrics, plot


def measure(client: sideline.Client, session_id: str, axes: Axes) -> bool:
    possessions, shots = client.possessions(session_id), client.shots(session_id)
    violations: sideline.Table = sideline.audit(possessions=possessions, shots=shots)
    assert_type(sideline.audit.rules()[0].tables, tuple[str, ...])
    assert_type([run.is_run for run in sideline.audit(shots=shots).rules], list[bool])
    print(violations)
    assert_type(metrics.ratings(possessions), sideline.Table)
    assert_type(metrics.ratings(possessions.to_polars(), possessions.to_polars()), polars.DataFrame)
    print(metrics.ratings(possessions=possessions), metrics.usage(box_score=shots, possessions=possessions))
    assert_type(metrics.lineups([possessions], size=2, by=["session_id"]), sideline.Table)
    assert_type(court.COLLEGE_MEN.hoop, tuple[float, float])
    print(court.transform([1, 2], [3, None], court.HOOP, court.Frame("hoop", "up", "ft")))
    assert_type(plot.shot_chart(shots, axes, kind="hexbin"), Axes)
    assert_type(sideline.plot.court(court="pro"), Axes)
    report = client.doctor()
    assert_type(report["signature"].state == "failed", bool)
    return report.ok
