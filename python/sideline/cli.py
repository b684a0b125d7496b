"""The `sideline` command."""

import argparse
import math
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from sideline._core import Update, __version__
from sideline.errors import SidelineError
from sideline.live import Disconnected
from sideline.simulator import Simulator

if TYPE_CHECKING:
    from sideline.live import LiveStream

_LINE_EVERY = 10.0
"""Seconds between the lines of `record` where its standard error is no terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit status."""
    given = _parser().parse_args(arguments)
    try:
        status: int = given.run(given)
    except KeyboardInterrupt:
        return 130
    except (SidelineError, ModuleNotFoundError, OSError, OverflowError, ValueError) as error:
        print(f"sideline: {error}", file=sys.stderr)
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sideline",
        description="Client and simulator of a sports tracking data service.",
        epilog="Who you are is read from SIDELINE_USERNAME and SIDELINE_SECRET, and for the Broadcast API from "
        "SIDELINE_API_KEY. Each command has its own --help. Nothing works? sideline doctor. No service? sideline demo.",
    )
    parser.add_argument("--version", action="version", version=f"sideline {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="walk through a simulated season and write its tables as Parquet files",
        description="Serve a season on this machine, walk from its schedule to box score, stat events, possessions and "
        "shots, print the tables and write them as Parquet files. It needs no service and no credentials.",
    )
    demo.add_argument("--seed", type=int, default=7, help="which season (default: 7)")
    demo.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="the folder to write (default: demo-output)"
    )
    demo.set_defaults(run=_demo)

    simulate = commands.add_parser(
        "simulate",
        help="serve a simulated season until Ctrl-C",
        description="Serve the whole service on this machine until Ctrl-C, and print the variables with which a client "
        "comes here. With --now the same seed gives the same bodies.",
    )
    simulate.add_argument("--port", type=int, default=0, help="to listen at (default: any free one)")
    simulate.add_argument("--seed", type=int, default=0, help="which season (default: 0)")
    simulate.add_argument(
        "--sport", choices=["basketball", "football"], default="basketball", help="default: basketball"
    )
    simulate.add_argument("--teams", type=int, default=16, metavar="COUNT", help="in the season (default: 16)")
    simulate.add_argument("--games", type=int, default=240, metavar="COUNT", help="in the season (default: 240)")
    simulate.add_argument(
        "--now", metavar="TIME", help="the season's clock, frozen: ISO 8601 with a time zone (default: the real clock)"
    )
    simulate.add_argument(
        "--tracking-hz", type=int, default=2, metavar="HZ", help="steps of locations in a second (default: 2)"
    )
    simulate.set_defaults(run=_simulate)

    sync = commands.add_parser(
        "sync",
        help="fetch into an archive what is new or may have changed",
        description="Fetch a season into Delta Lake tables; a sync that was killed resumes. Exit status: 0 complete, "
        "1 error, 3 incomplete (the holes are printed), 4 no hole, but fields that no table knows (they are printed). "
        "The client is configured by the environment: SIDELINE_USERNAME, SIDELINE_SECRET.",
    )
    sync.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    sync.add_argument("--teams", type=int, nargs="+", metavar="ID", help="default: all that the credential may see")
    sync.add_argument("--games", nargs="+", metavar="ID", help="these games alone")
    sync.add_argument("--from", dest="start", metavar="TIME", help="ISO 8601; a date alone is midnight UTC")
    sync.add_argument("--to", dest="end", metavar="TIME", help="default: now")
    sync.add_argument("--tables", nargs="+", metavar="TABLE", help="default: all but locations")
    sync.add_argument(
        "--correction-window",
        type=float,
        default=7.0,
        metavar="DAYS",
        help="how long after its end a game is asked for again (default: 7); inf: always",
    )
    sync.add_argument(
        "--allow-drift", action="store_true", help="exit status 0, not 4, where only unknown fields were met"
    )
    sync.set_defaults(run=_sync)

    export = commands.add_parser(
        "export",
        help="bring another database up to date with an archive",
        description="Write what changed since the last export, in one transaction. Exit status: 0 done, 1 an error.",
    )
    export.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    export.add_argument("--to", required=True, metavar="ADDRESS", help="postgresql://.. or duckdb:///file.duckdb")
    export.add_argument("--schema", choices=("evolve", "freeze"), default="evolve", help="what to do with new columns")
    export.set_defaults(run=_export)

    compact = commands.add_parser("compact", help="join the small files of an archive")
    compact.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    compact.set_defaults(run=_compact)

    vacuum = commands.add_parser("vacuum", help="delete files of an archive that were replaced")
    vacuum.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    vacuum.add_argument("--retain", type=float, default=7.0, metavar="DAYS", help="default: 7")
    vacuum.set_defaults(run=_vacuum)

    doctor = commands.add_parser(
        "doctor",
        help="say what is wrong with the set-up; exit status 1 if something is",
        description="Go through the set-up step by step: settings and where each comes from (secrets by their length "
        "alone), proxy, DNS, TCP, TLS, the clock, the signature, privileges, the websocket, the Broadcast key. Each "
        "line is ok, failed, missing (a privilege that was not granted) or skipped, and says what to do. About ten "
        "small requests. Exit status: 0 nothing failed, 1 something did.",
    )
    doctor.add_argument(
        "--environment",
        choices=["production", "development"],
        help="default: SIDELINE_ENVIRONMENT, else production",
    )
    doctor.add_argument("--sport", choices=["basketball", "football"], help="default: SIDELINE_SPORT, else basketball")
    doctor.set_defaults(run=_doctor)

    record = commands.add_parser(
        "record",
        help="append a live stream to a journal, until Ctrl-C",
        description="Append each item of a live stream to a journal, which sideline.replay gives again, until Ctrl-C. "
        "A recorder that is killed loses a second at most.",
    )
    which = record.add_mutually_exclusive_group(required=True)
    which.add_argument("--schedule-id", metavar="ID", help="the Broadcast API's event stream of a game")
    which.add_argument("--game-id", metavar="ID", help="the live websocket of a game")
    record.add_argument("path", type=Path, metavar="PATH", help="the journal: made, or gone on with")
    record.set_defaults(run=_record)

    journal = commands.add_parser(
        "journal",
        help="repair the journal of a live stream",
        description="Work with the journals that `sideline record` and `stream.record` write.",
    )
    actions = journal.add_subparsers(title="actions", required=True, metavar="ACTION", help="what to do with it")
    repair = actions.add_parser(
        "repair",
        help="save what is whole of a damaged journal",
        description="Save every whole block of a damaged journal and say what was lost. Without --out the repaired "
        "journal takes its place, and the damaged one is kept as PATH.damaged.",
    )
    repair.add_argument("path", type=Path, metavar="PATH", help="the damaged journal")
    repair.add_argument("--out", type=Path, metavar="OUT", help="where to write the repaired journal")
    repair.set_defaults(run=_repair)
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


def _sync(given: argparse.Namespace) -> int:
    from sideline.archive.command import sync

    if given.start is None and given.games is None:
        raise ValueError("give the range: --from, and --to where it is not now; or --games")
    try:
        window = None if given.correction_window == math.inf else timedelta(days=given.correction_window)
    except (OverflowError, ValueError):
        raise ValueError(f"--correction-window is {given.correction_window}; it is a number of days, or inf") from None
    return sync(
        given.path,
        given.teams,
        given.games,
        given.start,
        given.end,
        given.tables,
        window,
        allow_drift=given.allow_drift,
    )


def _export(given: argparse.Namespace) -> int:
    from sideline.archive import Archive

    done = Archive(given.path).export(given.to, schema=given.schema)
    print(f"{given.path}: {done.units} units, {sum(done.rows.values())} rows exported")
    return 0


def _compact(given: argparse.Namespace) -> int:
    from sideline.archive import Archive

    Archive(given.path).compact()
    return 0


def _vacuum(given: argparse.Namespace) -> int:
    from sideline.archive import Archive

    try:
        retain = timedelta(days=given.retain)
    except (OverflowError, ValueError):
        raise ValueError(f"--retain is {given.retain}; it is a number of days") from None
    print(f"{given.path}: {Archive(given.path).vacuum(retain=retain)} files deleted")
    return 0


def _doctor(given: argparse.Namespace) -> int:
    from sideline.client import Client

    with Client(environment=given.environment, sport=given.sport) as client:
        report = client.doctor()
    print(report)
    return 0 if report.ok else 1


def _record(given: argparse.Namespace) -> int:
    from sideline.client import Client

    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    with Client() as client:
        game, schedule = given.game_id, given.schedule_id
        stream = client.live(game) if game is not None else client.live_stats(schedule)
        # Before there is a journal.
        client._core.check_credentials(broadcast=game is None)
        # No exception in the middle of anything: the loop ends when it sees that it is stopped.
        before = [(number, signal.signal(number, stop)) for number in (signal.SIGINT, signal.SIGTERM)]
        try:
            with stream.record(given.path):
                refusal = _watch(stream, lambda: stopped)
        finally:
            for number, handler in before:
                signal.signal(number, handler)
    stats = stream.stats
    print(f"recorded {_told(stats.updates, stats.bytes, stats.gaps)} to {given.path}")
    if not stats.updates and refusal:
        print(f"sideline: nothing was received: {refusal}", file=sys.stderr)
        return 1
    return 0


def _repair(given: argparse.Namespace) -> int:
    from sideline.journal import repair

    repaired = repair(given.path, given.out)
    where = given.path if given.out is None else given.out
    print(f"{repaired.blocks} blocks with {repaired.items} items are whole: {where}")
    for lost in repaired.lost:
        start, end = (f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else None for at in (lost.after, lost.before))
        when = f"received between {start or 'the beginning'} and {end or 'the end'}"
        print(f"lost: {lost.bytes} bytes from byte {lost.start} on, {when}")
    if repaired.lost and given.out is None:
        print(f"the damaged journal is kept as {given.path}.damaged")
    return 0


def _watch(stream: "LiveStream", stopped: Callable[[], bool]) -> str | None:
    """Takes and reports items; returns the last refusal, if the service answered with a status."""
    terminal = sys.stderr.isatty()
    every = 0.5 if terminal else _LINE_EVERY
    last: datetime | None = None
    told = time.monotonic()
    core = stream._core
    refusal: str | None = None
    try:
        while not stopped():
            item = core.next_within(min(0.2, every))
            if item is None and core.ended and (item := core.take()) is None:
                break
            if isinstance(item, Disconnected) and item.status is not None:
                refusal = item.reason
            if isinstance(item, Update):
                last = item.received_at
            if isinstance(item, Disconnected) and item.attempt == 1 and item.retry_at is not None:
                line = f"not connected: {item.reason}"
                print(f"\r{line}\033[K" if terminal else line, file=sys.stderr, flush=True)
            if time.monotonic() - told >= every:
                told = time.monotonic()
                stats = stream.stats
                when = f"last received {last.astimezone():%H:%M:%S}" if last else "nothing received yet"
                line = f"{_told(stats.updates, stats.bytes, stats.gaps)}, {when}"
                print(
                    f"\r{line}\033[K" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True
                )
    finally:
        if terminal:
            print(file=sys.stderr)
    return refusal


def _told(updates: int, size: int, gaps: int) -> str:
    sized = f"{size} bytes" if size < 1000 else f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
    return f"{updates} update{'s' * (updates != 1)}, {sized}, {gaps} gap{'s' * (gaps != 1)}"
