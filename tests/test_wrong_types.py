"""A value of a wrong type in any argument of a plot or a metric: one error that names the argument, and no figure stays."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from needs import library, require
from service import Service

import sideline
from tracked_game import Sensors, TrackedGame

pa = library("pyarrow")
pl = library("polars")
require("matplotlib", "polars", "pyarrow", extra="plot,polars")

pytestmark = pytest.mark.usefixtures("agg")

WRONG: list[Any] = [object(), b"x", 3.5, "\N{SNOWMAN}", [], [None], {"\N{SNOWMAN}": 1}, (1, 2), int, float("nan"), 10**30, pa.table({"a": [1]})]
# What a plot hands to the artist: matplotlib refuses it in its own words.
OF_THE_ARTIST = {"court.color", "court.linewidth"}
TABLES = {"rows": "box_score", "loads": "tracking_loads", "matchups": "tracking_matchups"}
PLOTS = sorted(set(sideline.plot.__all__) - {"Animation"})
METRICS = [name for name in sideline.metrics.__all__ if inspect.isfunction(getattr(sideline.metrics, name))]


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """What the first arguments are called, and a value of each."""
    tracking = sideline.Tracking((game := TrackedGame(Sensors(rate=5))).locations(), game.shots(), possessions=game.possessions())
    with Service(teams=2, games=1, seed=5) as service, sideline.Client(**service.client_options(), max_retries=0) as client:
        session = next(iter(service.season.sessions()))[1].id
        possessions, box_score, shots = client.possessions(session), client.stats(session).to_polars("box_score"), client.shots(session).table()
    teams = {"team": next(row["team_id"] for row in possessions.table("possessions").to_dicts())}
    players = box_score.filter(~pl.col("is_team_total"))["player_id"].to_list()[:2]
    box_score = box_score.with_columns(pl.col(*sideline.metrics.PER_36, "OFFENSIVE_REB", "DEFENSIVE_REB").fill_null(0))
    return {
        "animate": {"window": tracking.window(tracking.defenders().to_dicts()[0])},
        "assist_network": {"possession_events": possessions} | teams,
        "compare_players": {"rows": box_score, "players": players},
        "court": {},
        "loads": {"loads": tracking.loads()},
        "matchups": {"matchups": tracking.matchups()},
        "possession_timeline": {"possessions": possessions},
        "score_margin": {"possessions": possessions},
        "shot_chart": {"shots": shots},
        "tracking": {"locations": game.locations()},
        "zones": {"shots": shots},
        "metrics": {"possessions": possessions, "box_score": box_score},
    }


def problems(name: str, function: Callable[..., Any], good: dict[str, Any]) -> list[str]:
    """Each argument in turn has each wrong value: what was raised in other words than ours, and which figures stay."""
    from matplotlib import pyplot

    violations = []
    of_rows = next(iter(good), None)
    for parameter in inspect.signature(function).parameters.values():
        argument = parameter.name
        if parameter.kind is parameter.VAR_KEYWORD or f"{name}.{argument}" in OF_THE_ARTIST:
            continue
        for value in WRONG:
            if value == [] and argument == of_rows:
                continue  # no rows, which a plot may refuse for another argument's sake
            pyplot.close("all")
            try:
                function(**{**good, argument: value})
            except BaseException as error:  # noqa: BLE001 - also a panic of a library, which is no Exception
                # `team=` and `team_id=` are one argument in two spellings; rows have the name of their table. The snowman is shown.
                words = {argument, argument.removesuffix("_id"), argument.removesuffix("s"), TABLES.get(argument, argument), "\N{SNOWMAN}"}
                if (
                    not isinstance(error, (TypeError, ValueError))
                    or type(error).__module__.partition(".")[0] not in ("builtins", "sideline")
                    or not any(word in str(error) for word in words)
                ):
                    violations.append(f"{name}({argument}={value!r}): {type(error).__name__}: {error}")
                if pyplot.get_fignums():
                    violations.append(f"{name}({argument}={value!r}) leaves a figure")
    return violations


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_names_the_argument_and_leaves_no_figure(name: str, rows: dict[str, Any]) -> None:
    plot = getattr(sideline.plot, name)
    plot(**rows[name])
    assert "\n".join(problems(name, plot, rows[name])) == ""


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_names_the_argument(name: str, rows: dict[str, Any]) -> None:
    metric = getattr(sideline.metrics, name)
    good = {argument: value for argument, value in rows["metrics"].items() if argument in inspect.signature(metric).parameters}
    metric(**good)
    assert "\n".join(problems(name, metric, good)) == ""


def test_names_by_text_are_refused_not_ignored(rows: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=re.escape("players is a mapping by id, a whole number; it has the key '100'")):
        sideline.plot.loads(**rows["loads"], players={"100": "Ann"})


def test_names_by_the_ids_of_a_column_with_nulls_are_taken(rows: dict[str, Any]) -> None:
    """Such a column has floats in pandas, and null for a row without a player."""
    player = rows["loads"]["loads"].to_dicts()[0]["player_id"]
    axes = sideline.plot.loads(**rows["loads"], players={float(player): "Ann", None: "nobody", float("nan"): "nobody"})  # type: ignore[dict-item] - as said
    assert "Ann" in [label.get_text() for label in axes.get_yticklabels()]


def test_a_text_in_place_of_axes_names_the_argument_that_was_meant(rows: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=re.escape("ax is matplotlib's axes, not 'hexbin': write kind='hexbin'")):
        sideline.plot.shot_chart(**rows["shot_chart"], ax="hexbin")  # type: ignore[arg-type] - what the test refuses


@pytest.mark.parametrize("name", ["audit", "crosswalk", "moments", "four_factors", "true_shooting", "Tracking", "shot_chart", "compare_players", "from_arrow"])
def test_a_column_of_pandas_with_values_of_several_types_is_named(rows: dict[str, Any], name: str) -> None:
    """Such as one of a spreadsheet: pyarrow refuses it in its own words, with an error of its own."""
    library("pandas")
    box_score, possessions = (rows["metrics"][table] for table in ("box_score", "possessions"))
    column, frame = {
        "Tracking": ("x", rows["tracking"]["locations"].to_pandas()),
        "shot_chart": ("team_id", rows["shot_chart"]["shots"].to_pandas()),
        "moments": ("session_id", rows["shot_chart"]["shots"].to_pandas()),
    }.get(name, ("player_id", box_score.to_pandas()))
    frame[column] = frame[column].astype(object)
    frame.loc[frame.index[1], column] = 7 if column == "session_id" else "7"
    calls: dict[str, Callable[[], object]] = {
        "audit": lambda: sideline.audit(player_stats=frame),
        "crosswalk": lambda: sideline.crosswalk(box_score, frame),
        "moments": lambda: sideline.moments(frame, rows["tracking"]["locations"]),
        "four_factors": lambda: sideline.metrics.four_factors(frame, possessions),
        "true_shooting": lambda: sideline.metrics.true_shooting(frame),
        "Tracking": lambda: sideline.Tracking(frame),
        "shot_chart": lambda: sideline.plot.shot_chart(frame),
        "compare_players": lambda: sideline.plot.compare_players(frame, rows["compare_players"]["players"]),
        "from_arrow": lambda: sideline.Table.from_arrow(frame),
    }
    with pytest.raises(TypeError, match=f"the column {column} has values of no common type") as excinfo:
        calls[name]()
    assert type(excinfo.value) is TypeError
