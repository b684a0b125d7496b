"""The `sideline` command."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from sideline._core import __version__
from sideline.errors import SidelineError
from sideline.simulator import Simulator


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit status."""
    given = _parser().parse_args(arguments)
    try:
        status: int = given.run(given)
    except KeyboardInterrupt:
        return 130
    except (SidelineError, ModuleNotFoundError, OSError, ValueError) as error:
        print(f"sideline: {error}", file=sys.stderr)
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sideline", description="Client and simulator of a sports tracking data service."
    )
    parser.add_argument("--version", action="version", version=f"sideline {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="walk through a simulated season and write its tables as Parquet files")
    demo.add_argument("--seed", type=int, default=7, help="which season (default: 7)")
    demo.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="the folder to write (default: demo-output)"
    )
    demo.set_defaults(run=_demo)

    simulate = commands.add_parser("simulate", help="serve a simulated season until Ctrl-C")
    simulate.add_argument("--port", type=int, default=0, help="default: any free one")
    simulate.add_argument("--seed", type=int, default=0, help="which season (default: 0)")
    simulate.add_argument("--sport", choices=["basketball", "football"], default="basketball")
    simulate.add_argument("--teams", type=int, default=16, help="default: 16")
    simulate.add_argument("--games", type=int, default=240, help="default: 240")
    simulate.add_argument("--now", help="the season's clock, frozen: ISO 8601 (default: the real clock)")
    simulate.add_argument("--tracking-hz", type=int, default=2, help="steps of locations in a second (default: 2)")
    simulate.set_defaults(run=_simulate)
    return parser


def _demo(given: argparse.Namespace) -> int:
    from sideline._demo import demo

    demo(given.seed, given.out)
    return 0


def _simulate(given: argparse.Namespace) -> int:
    service = Simulator(
        given.seed,
        sport=given.sport,
        teams=given.teams,
        games=given.games,
        now=given.now,
        port=given.port,
        tracking_hz=given.tracking_hz,
    )
    with service:
        print("# The simulated service runs until Ctrl-C. In another shell:")
        for name, value in service.environ.items():
            print(f"export {name}={value}")
        # A reader of a pipe waits for these lines.
        sys.stdout.flush()
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0
