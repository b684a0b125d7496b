"""`sideline capture`: the service in a folder, with what was unknown of it."""

import argparse
import os
from pathlib import Path

from ._client import open_client
from ._exits import Exit
from ._parser import Commands, add_command, print_line, team_id


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "capture",
        run,
        "request each operation once, and write what the service sends into a folder",
        "Request each operation and watch each stream once, with at most 200 requests, and write a folder: the bodies, "
        "capture.json and capture.html. Names, ids, jersey numbers and links are replaced by pseudonyms, whose key "
        "stays in your state folder. No error is provoked. A stopped capture resumes in the same folder. Exit status: "
        "0 every operation succeeded, 3 some were refused or broken, 1 error.",
    )
    parser.add_argument("path", type=Path, metavar="FOLDER", help="the folder, which is new or that of a capture")
    parser.add_argument("--team", type=team_id, metavar="ID", help="the team to follow (default: the first)")
    parser.add_argument(
        "--live",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long each stream is watched; 0: not at all (default: 30)",
    )
    parser.add_argument(
        "--requests-per-second",
        type=_rate,
        default=2.0,
        metavar="COUNT",
        help="at most this many requests (default: 2)",
    )
    parser.add_argument("--plain", action="store_true", help="keep the bodies unchanged, except tokens")


def run(args: argparse.Namespace) -> int:
    """Capture, and print where the report is."""
    from .._companions import PAGE, capture, pseudonyms_of

    options = {"requests_per_second": args.requests_per_second, "max_concurrency": 1, "max_retries": 0}
    with open_client(**options) as client:
        state = capture(
            client,
            args.path,
            pseudonyms=None if args.plain else pseudonyms_of(True),
            secrets=[os.environ.get(f"SIDELINE_{name}", "") for name in ("SECRET", "API_KEY")],
            team_id=args.team,
            live_seconds=args.live,
            write_line=print_line,
        )
    problems = [exchange for exchange in state.exchanges if exchange.outcome in ("refused", "broken", "failed")]
    count = sum(exchange.outcome == "fetched" for exchange in state.exchanges)
    print(f"{args.path / PAGE}: {count} operations fetched, {len(problems)} refused or broken")
    return Exit.INCOMPLETE if problems else Exit.DONE


def _seconds(text: str) -> float:
    return _number(text, "number of seconds", 0.0, 3600.0)


def _rate(text: str) -> float:
    return _number(text, "number of requests a second", 0.01, 100.0)


def _number(text: str, noun: str, first: float, last: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not first <= value <= last:
        raise argparse.ArgumentTypeError(f"{text!r} is not a {noun}; write a number from {first:g} to {last:g}")
    return value
