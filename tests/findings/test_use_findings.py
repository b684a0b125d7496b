"""Findings of a newcomer's days: the desired behaviour, which today's code lacks."""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from data_seasons import archive_in, client_of, new_service, sync

import sideline
from streams import HEAD, server, then_hold

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(60)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def session(service: sideline.Simulator, client: sideline.Client) -> str:
    """The first half of a finished game."""
    sessions = client.game(service.games[0]["event_id"]).table("sessions")
    return str(sessions["session_id"][0])


# 1. Ranges that hold nothing.

REVERSE, EMPTY = ("2026-12-01", "2026-11-01"), ("2026-12-01", "2026-12-01")
EARLY, LATE = ("1889-12-01", "2026-01-01"), ("2026-11-01", "2126-12-01")
CALLS: dict[str, Callable[[sideline.Client, tuple[str, str]], Any]] = {
    "schedule": lambda client, span: client.schedule(*span),
    "broadcast_schedule": lambda client, span: client.broadcast_schedule(*span),
    "matchup": lambda client, span: client.matchup([1001, 1002], *span, reference="SHOTTRACKER", gender="MEN"),
    "plan": lambda client, span: client.plan("shots", start=span[0], end=span[1]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("span", [REVERSE, EMPTY, EARLY, LATE])
def test_a_range_that_holds_nothing_is_refused_before_a_request(service: sideline.Simulator, client: sideline.Client, name: str, span: tuple[str, str]) -> None:
    message = {REVERSE: "swap them", EMPTY: "the range is empty"}.get(span, "1990|2100")
    before = len(service.requests)
    with pytest.raises(ValueError, match=message):
        CALLS[name](client, span)
    assert len(service.requests) == before


@pytest.mark.parametrize("name", ["schedule", "broadcast_schedule"])
def test_the_asynchronous_client_refuses_a_swapped_range(service: sideline.Simulator, name: str) -> None:
    async def request() -> None:
        async with service.async_client() as client:
            await getattr(client, name)(*REVERSE)

    with pytest.raises(ValueError, match="swap them"):
        asyncio.run(request())


# 2. The box score of a game.


def test_the_box_score_of_a_game_is_one_call(service: sideline.Simulator, client: sideline.Client) -> None:
    table: sideline.Table = client.box_score(service.games[0]["event_id"])
    rows = table.to_dicts()
    assert table.column_names[: table.column_names.index("source") + 1] == [
        *("game_id", "team_id", "team_name", "player_id", "player_name", "is_team_total", "did_not_play", "source")
    ]
    assert len({row["team_id"] for row in rows}) == 2
    assert {row["player_name"] for row in rows if row["is_team_total"]} == {"Team total"}
    players = [row for row in rows if not row["did_not_play"]]
    assert all(row["PTS"] is not None for row in players), "players without a point have 0"
    assert len({(row["team_id"], row["player_id"]) for row in rows}) == len(rows), "a row for each player, not for each half"


def test_the_box_score_of_a_game_by_period_names_the_period(service: sideline.Simulator, client: sideline.Client) -> None:
    table: sideline.Table = client.box_score(service.games[0]["event_id"], periods=True)
    assert set(table["period"]) >= {"H1", "H2"}


def test_the_requested_names_are_shown(client: sideline.Client, session: str) -> None:
    table = client.shots(session).table("shots", names=True)
    assert "player_name" in table.column_names
    assert "player_name" in str(table).partition("not shown")[0]


# 3. The command.


def run(*arguments: str) -> int:
    from sideline import cli

    try:
        return int(cli.main(list(arguments)))
    except SystemExit as error:
        return int(error.code or 0)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """An archive with one small table."""
    with new_service() as league, client_of(league) as client:
        sync(archive_in(tmp_path, client), ("teams",))
    return str(tmp_path / "season")


WRONG: dict[str, list[str]] = {
    "no date": ["sync", "{folder}", "--from", "2026-99-01"],
    "no table": ["sync", "{folder}", "--from", "2026-11-01", "--tables", "shot"],
    "no window": ["sync", "{folder}", "--from", "2026-11-01", "--correction-window", "nan"],
    "swapped range": ["sync", "{folder}", "--from", "2026-12-01", "--to", "2026-11-01"],
    "no range": ["sync", "{folder}"],
    "no date of status": ["status", "{folder}", "--since", "2026-99-01"],
    "no target": ["export", "{folder}", "--to", "mysql://host/database"],
    "negative days": ["vacuum", "{folder}", "--retain", "-1"],
    "no port": ["live", "g1", "--serve", "--port", "99999999"],
    "no port of a season": ["simulate", "--port", "99999999"],
    "no time of a season": ["simulate", "--now", "yesterday"],
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_value_exits_with_2(
    service: sideline.Simulator, folder: str, mistake: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in service.environ.items():
        monkeypatch.setenv(name, value)
    assert run(*(argument.format(folder=folder) for argument in WRONG[mistake])) == 2
    assert capsys.readouterr().err.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
def test_a_closed_pipe_is_not_an_error() -> None:
    with sideline.Simulator(seed=7, teams=4, games=8) as season:
        game = season.games[-1]["event_id"]
        season.play(game, speed=60.0)
        command = [sys.executable, "-m", "sideline", "live", game, "--json"]
        with subprocess.Popen(command, env={**os.environ, **season.environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            assert child.stdout.readline()
            child.stdout.close()
            errors = child.stderr.read()
            child.wait(30)
    assert "Broken pipe" not in errors


# 4. Faults that never fire.

PLUGIN = """
def test_the_pipeline(sideline_simulator, sideline_client):
    sideline_simulator.faults.add("*/shot", status=500)
    assert sideline_client.teams().table().num_rows > 0
"""


def test_a_fault_that_never_fired_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text(PLUGIN, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SIDELINE_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 1, done.stdout
    assert "*/shot" in done.stdout


def test_a_simulator_names_the_faults_that_never_fired() -> None:
    with sideline.Simulator(teams=2, games=1) as simulator, simulator.client() as client:
        simulator.faults.add("*/shot", status=500)
        simulator.faults.add("*/teams", delay=0.001)
        client.teams()
        assert ["*/shot" in str(fault) for fault in simulator.faults.unused] == [True]


# 5. A game to watch.


def test_a_simulated_season_can_play_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "--help") == 0
    assert re.search(r"--play\b", capsys.readouterr().out)


# 6. Plots in figures of the reader's own.


@pytest.fixture
def agg() -> Iterator[None]:
    """Matplotlib's defaults without a screen."""
    matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'sideline[plot]'")
    from matplotlib import pyplot

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        pyplot.switch_backend("agg")
        yield
    pyplot.close("all")


def first_team(client: sideline.Client, session: str) -> int:
    return int(client.stats(session).table("box_score")["team_id"][0])


def first_players(client: sideline.Client, session: str) -> list[int | str]:
    return [row["player_id"] for row in client.stats(session).table("box_score").to_dicts() if not row["is_team_total"]][:2]


PLOTS: dict[str, Callable[[sideline.Client, str, Any], Any]] = {
    "hexagons": lambda client, session, ax: sideline.plot.shot_chart(client.shots(session), ax=ax, kind="hexbin"),
    "scatter": lambda client, session, ax: sideline.plot.shot_chart(client.shots(session), ax=ax),
    "zones": lambda client, session, ax: sideline.plot.shot_chart(client.shots(session), ax=ax, kind="zones"),
    "timeline": lambda client, session, ax: sideline.plot.possession_timeline(client.possessions(session), ax=ax),
    "margin": lambda client, session, ax: sideline.plot.score_margin(client.possessions(session), ax=ax),
    "assists": lambda client, session, ax: sideline.plot.assist_network(client.possessions(session), ax=ax, team=first_team(client, session)),
    "comparison": lambda client, session, ax: sideline.plot.compare_players(client.stats(session), first_players(client, session), ax=ax),
}
FIGURES: dict[str, dict[str, Any]] = {
    "small": {"figsize": (4, 3)},
    "four, small": {"ncols": 2, "nrows": 2, "figsize": (4, 3)},
    "four, large": {"ncols": 2, "nrows": 2, "figsize": (12, 8)},
    "one": {"figsize": (8, 4)},
    "two": {"ncols": 2},
    "four": {"ncols": 2, "nrows": 2},
    "two, constrained": {"ncols": 2, "figsize": (8, 4), "layout": "constrained"},
    "four, constrained": {"ncols": 2, "nrows": 2, "layout": "constrained"},
    "two, tight": {"ncols": 2, "figsize": (8, 4), "layout": "tight"},
    "four, tight": {"ncols": 2, "nrows": 2, "layout": "tight"},
}
SMALLEST = ("four, small", "four, constrained", "four, tight")
"""Where the texts have least room."""


def unseen_labels(axes: Any) -> set[Any]:
    """The labels of ticks beyond the limits of an axis, which are not drawn."""
    labels = set()
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        labels |= {label for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high for label in (tick.label1, tick.label2)}
    return labels


def illegible(figure: Any) -> list[str]:
    """The texts that the figure cuts, or that lie on those of another plot."""
    from matplotlib.text import Text

    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = [
        (axes, text.get_text(), text.get_window_extent(renderer))
        for axes in figure.axes
        for text in set(axes.findobj(Text)) - unseen_labels(axes)
        if text.get_visible() and text.get_text().strip()
    ]
    edge = figure.bbox
    cut = [f"{text!r} is cut" for _, text, box in boxes if box.x0 < -1 or box.y0 < -1 or box.x1 > edge.x1 + 1 or box.y1 > edge.y1 + 1]
    return cut + [
        f"{text!r} lies on {other!r}"
        for place, (axes, text, box) in enumerate(boxes)
        for others, other, other_box in boxes[place + 1 :]
        if axes is not others and box.overlaps(other_box)
    ]


@pytest.mark.usefixtures("agg")
@pytest.mark.parametrize(
    ("plot", "figure"),
    [pytest.param(plot, figure, marks=() if figure in SMALLEST else pytest.mark.extended) for plot in PLOTS for figure in FIGURES],
)
def test_every_text_of_a_plot_is_legible_in_a_figure_of_the_readers_own(client: sideline.Client, session: str, plot: str, figure: str) -> None:
    import numpy
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(**FIGURES[figure])
    for ax in numpy.atleast_1d(axes).flat:
        PLOTS[plot](client, session, ax)
    assert illegible(fig) == []


# 7. The first page, and names.


@pytest.mark.source
def test_the_readmes_speeds_are_in_the_report() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    report = (ROOT / "benches" / "REPORT.md").read_text(encoding="utf-8")
    measurements = [float(number) for number in re.findall(r"\b(\d+\.\d+)×", report)]
    claims = re.findall(r"(\d+\.\d+) (?:times as fast|\s*of orjson)", readme.replace("\n ", ""))
    assert len(claims) == 3
    assert [number for number in claims if float(number) not in measurements] == []
    with_speeds = runpy.run_path(str(ROOT / "benches" / "readme.py"))["with_speeds"]
    assert readme == with_speeds(readme, report), "run python benches/readme.py"


@pytest.mark.source
def test_the_readme_has_a_picture() -> None:
    assert re.search(r"!\[[^\]]+\]\(|<img ", (ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("agg")
def test_a_name_that_several_players_have_lists_those(client: sideline.Client, session: str) -> None:
    players = {row["last_name"] for row in client.stats(session).table("box_score").to_dicts() if not row["is_team_total"]}
    names = [row["last_name"] for row in client.stats(session).table("box_score").to_dicts() if not row["is_team_total"]]
    shared = next(name for name in names if names.count(name) > 1)
    with pytest.raises(ValueError, match=r"matches \d+ names") as excinfo:
        sideline.plot.shot_chart(client.shots(session), player=shared)
    suggestions = {name for name in players if name in str(excinfo.value)}
    assert suggestions == {shared}


MISSPELLINGS: dict[str, tuple[str, Callable[[sideline.Client, str], Any]]] = {
    "player": ("Jansen", lambda client, session: sideline.plot.shot_chart(client.shots(session), player="Jansn")),
    "team": ("Elkhorn Mariners", lambda client, session: sideline.plot.shot_chart(client.shots(session), team="Elkhron")),
    "table": ("box_score", lambda client, session: client.stats(session).table("box_scor")),  # type: ignore[call-overload]
    "column": ("team_name", lambda client, session: client.stats(session).table("box_score", columns=["team_nam"])),
    "table of a plan": ("shots", lambda client, session: client.plan("shot", start="2026-11-01", end="2026-12-01")),  # type: ignore[arg-type]
}


@pytest.mark.usefixtures("agg")
@pytest.mark.parametrize("kind", MISSPELLINGS)
def test_a_misspelled_name_gets_a_suggestion(client: sideline.Client, session: str, kind: str) -> None:
    suggestion, call = MISSPELLINGS[kind]
    with pytest.raises(ValueError, match=r".") as excinfo:
        call(client, session)
    assert re.search(rf"did you mean [^?]*{suggestion}", str(excinfo.value)), str(excinfo.value)


# 8. The report and the live page.


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The morning report of an archive with one game that is not over, and the archive's folder."""
    folder = tmp_path_factory.mktemp("report")
    with new_service() as league:
        league.season.add_game(datetime(2027, 3, 1, 11, 50, tzinfo=UTC), sessions=1)
        with client_of(league) as client:
            archive = archive_in(folder, client)
            sync(archive, None)
            return str(archive.report().html), folder


def test_the_report_counts_in_english(report: tuple[str, Path]) -> None:
    assert re.search(r"\b1 game\b", report[0])
    assert "1 games" not in report[0]


def test_the_report_has_whole_sentences(report: tuple[str, Path]) -> None:
    assert "unknown field" in report[0]
    assert "No unknown field. Of the" not in report[0]


def test_the_report_has_the_verdicts(report: tuple[str, Path]) -> None:
    assert "provisional" in report[0]


def test_the_reports_title_is_the_archives_name(report: tuple[str, Path]) -> None:
    page, folder = report
    [title] = re.findall(r"<title>(.*?)</title>", page)
    assert "season" in title
    assert str(folder) not in title


def test_the_last_night_has_scores_and_leaders_as_its_box_scores(report: tuple[str, Path]) -> None:
    page, folder = report
    archive = sideline.Archive(folder / "season")
    rows = archive.scan("box_score").collect().to_dicts()
    games = {row["game_id"]: row for row in archive.scan("games").collect().to_dicts()}
    section = page.partition("<h2>Last night</h2>")[2].partition("</section>")[0]
    lines = re.findall(r'<th scope="row">([^<]+)</th><td>(\d+)–(\d+)[^<]*</td>(?:<td>[^<]*</td>){2}<td>([^<]+) (\d+)</td>', section)
    assert lines, section
    for name, away, home, leader, points_of_leader in lines:
        [game] = [game for game in games.values() if name == f"{game['away_team_name']} at {game['home_team_name']}" and str(game["game_id"]) in str(rows)]
        lines_of_game = [row for row in rows if row["game_id"] == game["game_id"]]
        for side, points in (("away", away), ("home", home)):
            totals = [row["PTS"] for row in lines_of_game if row["is_team_total"] and row["team_id"] == game[f"{side}_team_id"]]
            assert sum(total or 0 for total in totals) == int(points)
        by_player: dict[str, int] = {}
        for row in lines_of_game:
            if not row["is_team_total"]:
                key = f"{row['first_name']} {row['last_name']}"
                by_player[key] = by_player.get(key, 0) + int(row["PTS"] or 0)
        assert by_player[leader] == int(points_of_leader) == max(by_player.values())


def test_a_game_that_is_not_over_is_not_100_percent(report: tuple[str, Path]) -> None:
    heat = report[0].partition('class="heat"')[2].partition("</table>")[0]
    assert re.findall(r">(\d+)%<", heat)
    assert not all(share == "100" for share in re.findall(r">(\d+)%<", heat))


@pytest.fixture
def page() -> Callable[..., dict[str, Any]]:
    """What the live page shows after these messages."""
    from sideline.live import StreamStats
    from sideline.live._scoreboard import Scoreboard

    def view(*messages: dict[str, Any]) -> dict[str, Any]:
        data = b"".join(b"data: %s\n\n" % json.dumps(message).encode() for message in messages)
        board = Scoreboard("game", sideline.LiveBoxScore())
        with server([then_hold(HEAD + data)]) as running:
            with running.client() as client, client.live_stats("g1", notices=False) as stream:
                for _, item in zip(messages, stream, strict=False):
                    board.add(item)
        return dict(
            board.view(
                "connected",
                StreamStats(updates=1, bytes=1, reconnects=0, gaps=0, open_gaps=0, recovered=0, repeats=0, dropped=0, unreadable=0, buffer_bytes=0, lag=0.0),
            )
        )

    return view


PLAY = {"occurred_at": 1797125415378, "team_id": 1, "player_id": 11, "stats": {"PTS": 2}, "classification": "TWO_POINT_MAKE", "version": 1}


def test_a_play_of_the_live_page_is_english(page: Callable[..., dict[str, Any]]) -> None:
    [play] = page({"type": "stats", "data": PLAY})["plays"]
    assert "two point make" not in play["text"]
    assert "two" in play["text"].lower() or "2" in play["text"]


def test_the_clock_of_the_live_page_has_two_digits_for_seconds(page: Callable[..., dict[str, Any]]) -> None:
    view = page({"home_team_id": 1, "away_team_id": 2, "period": "H1", "game_clock": "16:3.1", "teams": []})
    assert re.fullmatch(r"16:03(\.1)?", view["clock"])


def test_a_small_terminal_shows_both_teams_or_says_what_it_leaves_out(page: Callable[..., dict[str, Any]]) -> None:
    from io import StringIO

    from rich.console import Console
    from rich.live import Live

    from sideline.live._terminal import render

    def line(team: int, number: int) -> dict[str, Any]:
        details = {"id": team * 100 + number, "firstname": "Ada", "lastname": f"Lane{team * 100 + number}", "profile_image_link": ""}
        return {"id": details["id"], "player_details": details, "version": 1, "stats": {"PTS": number}}

    teams = [{"id": team, "name": f"Team {team}", "player_stats": [line(team, number) for number in range(12)]} for team in (1, 2)]
    view = page({"home_team_id": 1, "away_team_id": 2, "period": "H1", "game_clock": "12:30.0", "teams": teams})
    written = StringIO()
    console = Console(file=written, width=80, height=24, force_terminal=True, color_system=None)
    with Live(console=console, auto_refresh=False, transient=True) as screen:
        screen.update(render(view, console.width, console.height), refresh=True)  # type: ignore[arg-type]
        text = written.getvalue()
    assert "Lane100" in text or "Lane111" in text, "the first team is not shown"
    assert "Lane211" in text or re.search(r"\d+ players left out", text)


# 9. What a newcomer looked for.


def test_a_table_has_its_times_in_the_readers_zone(client: sideline.Client) -> None:
    schedule = client.schedule("2026-11-01", "2026-11-10")
    local: Any = schedule.table("games", tz="America/New_York")
    [utc, local_time] = [table["tipoff_at"][0] for table in (schedule.table("games"), local)]
    assert local_time == utc
    assert local_time.utcoffset() != utc.utcoffset()
    assert str(local_time.tzinfo) == "America/New_York"
