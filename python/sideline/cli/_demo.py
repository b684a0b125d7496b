"""`sideline demo`: from a season's schedule to one game's tables and pictures, through the public API."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from .._core import Table
from .._lazy import library, pa
from .._rows import align
from ._exits import Exit
from ._parser import Commands, add_command, number

NOW = "2027-03-01T12:00:00Z"
SEASON = ("2026-10-01", "2027-05-01")

SHOWN_COLUMNS = {
    "games": ["game_id", "tipoff_at", "away_team_name", "home_team_name"],
    "sessions": ["session_id", "position", "type", "started_at", "ended_at"],
    "box_score": ["team_name", "last_name", "FG", "FGA", "FG3", "FT", "PTS", "AST", "REB"],
    "stat_events": ["team_name", "last_name", "stat", "period", "game_clock", "x", "y", "value"],
    "possessions": ["team_name", "possession", "period", "start_game_clock", "passes", "turnover", "lineup_id"],
    "shots": ["player_id", "period", "game_clock", "is_make", "points", "distance_cm", "zone"],
}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        run,
        "walk through a simulated season and write its tables and pictures",
        "Serve a season on this machine, walk from its schedule to box score, stat events, possessions and shots, "
        "print the tables and write them as Parquet files, with pictures of the shots, the loads and a made three. "
        "Needs neither the service nor credentials.",
    )
    parser.add_argument("--seed", type=number("seed", 0, 2**64 - 1), default=7, help="which season (default: 7)")
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="the folder to write (default: demo-output)"
    )


def run(args: argparse.Namespace) -> int:
    """Walk through the season."""
    demo(args.seed, args.out)
    return Exit.DONE


def demo(seed: int, out: Path) -> None:
    """Print the head of each table, write tables and pictures to `out`, and print what to try next."""
    from ..simulator import Simulator

    parquet = library("pyarrow.parquet", "plot")
    library("matplotlib", "plot")
    out.mkdir(parents=True, exist_ok=True)
    with Simulator(seed, now=NOW) as service, service.client() as client:
        print(f"A simulated service at {service.base_url}; the time in its season is {NOW}.")
        schedule = client.schedule(*SEASON)
        game = last_played(schedule.table())
        tipoff: datetime = game["tipoff_at"]
        print(f"The game: {game['away_team_name']} at {game['home_team_name']}, {tipoff:%Y-%m-%d %H:%M} UTC.")

        half_a_day = timedelta(hours=12)
        events = client.team_events(game["home_team_id"], tipoff - half_a_day, tipoff + half_a_day, games_only=True)
        sessions = [
            row["session_id"] for row in events.table("sessions").to_dicts() if row["game_id"] == game["game_id"]
        ]
        tables = {
            "games": [schedule.table("games")],
            "sessions": [events.table("sessions")],
            "box_score": [client.stats(session).table("box_score") for session in sessions],
            "stat_events": [client.stats_details(session).table("stat_events") for session in sessions],
            "possessions": [client.possessions(session).table("possessions") for session in sessions],
            "shots": [client.shots(session).table("shots") for session in sessions],
        }
        pictures = draw(client.tracking(game["game_id"]), tables["box_score"], out)
    show(tables)
    for name, parts in tables.items():
        parquet.write_table(concatenate(parts), out / f"{name}.parquet")
    summarize(tables, pictures, out, seed)


def draw(tracking: Any, box_scores: Sequence[Table], out: Path) -> dict[str, str]:
    """Draw shots by openness, loads and the last made three, and return a caption for each file."""
    from ..plot import animate, loads as draw_loads, shot_chart

    figure = library("matplotlib.figure", "plot").Figure
    names = {row["team_id"]: row["team_name"] for row in box_scores[0].to_dicts()}
    defenders = tracking.defenders()
    shots = figure(figsize=(11, 5.5), layout="constrained")
    for axes, team in zip(shots.subplots(1, len(names)), names, strict=True):
        shot_chart(defenders, axes, color="openness", team=team, teams=names)
    shots.savefig(out / "shots.png", dpi=120)
    loads = figure(figsize=(9, 7), layout="constrained")
    draw_loads(tracking.loads(), loads.subplots(), players=tracking.players, bands=(2, 4, 5.5, 7))
    loads.savefig(out / "loads.png", dpi=120)
    captions = {"shots.png": "each shot, by how open it was", "loads.png": "who ran how much"}
    threes = [row for row in defenders.to_dicts() if row["is_make"] and row["is_3point"] and row["t"]]
    if threes:
        window = tracking.window(threes[-1], before=4, after=1.5)
        animate(window, fps=10).to_gif(out / "three.gif")
        captions["three.gif"] = "the last made three, as it happened"
    return captions


def last_played(games: Table) -> dict[str, Any]:
    """Return the last game that was over one day before now."""
    yesterday = datetime.fromisoformat(NOW) - timedelta(days=1)
    games_played = [game for game in games.to_dicts() if game["tipoff_at"] < yesterday]
    return max(games_played, key=lambda game: game["tipoff_at"])


def concatenate(parts: Sequence[Table]) -> Any:
    """Concatenate the sessions' tables; a session may have stat codes that another lacks."""
    return pa.concat_tables([part.to_arrow() for part in parts], promote_options="default")


def show(tables: Mapping[str, Sequence[Table]]) -> None:
    for name, parts in tables.items():
        print(f"\n{name}: {sum(map(len, parts))} rows, {len(parts[0].column_names)} columns")
        print(align(parts[0], SHOWN_COLUMNS[name]))


def summarize(tables: Mapping[str, Sequence[Table]], pictures: Mapping[str, str], out: Path, seed: int) -> None:
    print("\nWritten:")
    for name, parts in tables.items():
        print(f"  {out / name}.parquet  {sum(map(len, parts))} rows")
    print(
        "\nNext, in Python:\n"
        "  import sideline\n"
        f'  service = sideline.Simulator(seed={seed}, now="{NOW}"); client = service.client()\n'
        "  client.teams().table().to_dicts()[:2]\n"
        f'  sideline.SCHEMAS["shots"]      # every column, with its unit and meaning\n'
        f'  import pyarrow.parquet; pyarrow.parquet.read_table("{out / "shots.parquet"}")'
    )
    print("\nOpen first:")
    for name, caption in pictures.items():
        print(f"  {out / name}  {caption}")
