"""`sideline simulate`: the whole service on this machine."""

import argparse
import sys
import time
from contextlib import suppress

from ..simulator import Simulator
from ._exits import Exit
from ._output import print_json
from ._parser import Commands, add_command, add_json, number, port


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
    parser.add_argument("--tracking-hz", type=int, default=2, metavar="HZ", help="locations per second (default: 2)")
    add_json(parser, "print the variables as one line of JSON")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    service = Simulator(
        args.seed,
        sport=args.sport,
        teams=args.teams,
        games=args.games,
        now=args.now,
        port=args.port,
        tracking_hz=args.tracking_hz,
    )
    # Ctrl-C may also come between the first line and the wait.
    with service, suppress(KeyboardInterrupt):
        if args.as_json:
            print_json(service.environ)
        else:
            print("# The simulated service runs until Ctrl-C. In another shell:")
            for name, value in service.environ.items():
                print(f"export {name}={value}")
        # A reader of a pipe waits for these lines.
        sys.stdout.flush()
        # In short steps: a signal that comes just before a sleep does not interrupt it.
        while True:
            time.sleep(0.2)
    return Exit.DONE
