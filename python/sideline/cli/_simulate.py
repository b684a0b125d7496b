"""`sideline simulate`: the whole service on this machine."""

import argparse
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .._core import _epoch_ms
from ._exits import Exit
from ._output import print_json
from ._parser import Commands, add_command, add_json, number, port, print_line

if TYPE_CHECKING:
    from ..simulator import Simulator


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "simulate",
        run,
        "serve a simulated season until Ctrl-C",
        "Serve the whole service on this machine until Ctrl-C, and print the variables that lead a client to it. With "
        "--now, the same seed gives the same bodies.",
    )
    parser.add_argument("--port", type=port, default=0, help="the port to listen on (default: any free port)")
    parser.add_argument("--seed", type=number("seed", 0, 2**64 - 1), default=0, help="which season (default: 0)")
    parser.add_argument(
        "--sport",
        choices=["basketball", "football"],
        default="basketball",
        help="the sport of the season (default: basketball)",
    )
    parser.add_argument("--teams", type=int, default=16, metavar="COUNT", help="teams of the season (default: 16)")
    parser.add_argument("--games", type=int, default=240, metavar="COUNT", help="games of the season (default: 240)")
    parser.add_argument(
        "--now", metavar="TIME", help="the season's clock, frozen: ISO 8601 with a time zone (default: the real clock)"
    )
    parser.add_argument(
        "--location-rate", type=int, default=2, metavar="COUNT", help="frames of locations per second (default: 2)"
    )
    parser.add_argument(
        "--from", dest="capture", metavar="FOLDER", help="serve this capture instead of a season (sideline capture)"
    )
    parser.add_argument("--play", action="store_true", help="play the next game at once, for `sideline live`")
    parser.add_argument(
        "--speed", type=float, metavar="FACTOR", help="with --play: how fast it plays (default: 1, in real time)"
    )
    add_json(parser, "print the variables as one line of JSON")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from ..simulator import Simulator

    if args.speed is not None and not args.play:
        args.parser.error("--speed needs --play")
    for option in ("seed", "sport", "teams", "games", "now", "location_rate"):
        if args.capture is not None and getattr(args, option) != args.parser.get_default(option):
            args.parser.error(f"--{option.replace('_', '-')} is of a season, and --from serves a capture")
    if args.capture is not None:
        if args.play:
            raise ValueError("--play plays a game of a season; the streams of a capture run by themselves")
        service = Simulator.from_capture(args.capture, port=args.port)
    else:
        service = Simulator(
            args.seed,
            sport=args.sport,
            teams=args.teams,
            games=args.games,
            now=args.now,
            port=args.port,
            location_rate=args.location_rate,
        )
    # Ctrl-C may also come between the first line and the wait.
    with service, suppress(KeyboardInterrupt):
        if args.as_json:
            print_json(service.environ)
        else:
            print("# The simulated service runs until Ctrl-C. In another shell:")
            for name, value in service.environ.items():
                print(f"export {name}={value}")
        if args.play:
            now = time.time() * 1000 if args.now is None else _epoch_ms("now", args.now)
            _play_next(service, now, 1.0 if args.speed is None else args.speed)
        # A reader of a pipe waits for these lines.
        sys.stdout.flush()
        # In short steps: a signal that comes just before a sleep does not interrupt it.
        while True:
            time.sleep(0.2)
    return Exit.DONE


def _play_next(service: "Simulator", now: float, speed: float) -> None:
    """Play the game that is the next to begin, and say how to see it; the line is a comment of a shell."""
    if not service.games:
        raise ValueError("the season has no game to play: leave --games out, or give at least 1")
    upcoming_games = [game for game in service.games if game["tipoff_at"] > now]
    game = min(upcoming_games, key=lambda game: game["tipoff_at"], default=service.games[-1])
    service.play(game["event_id"], speed)
    names = f"{game['away_team_name']} at {game['home_team_name']}"
    print_line(f"# Playing {names}: sideline live --game-id {game['event_id']}")
