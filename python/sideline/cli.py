"""The `sideline` command."""

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ._client import core_of, core_of_stream
from ._command import SHELLS, Exit, script
from ._core import Update, __version__
from .errors import DecodeError, SidelineError
from .live import Disconnected
from .simulator import Simulator

if TYPE_CHECKING:
    from ._client import Client
    from .live import LiveBoxScore, LiveStream

__all__ = ["main"]

_LINE_INTERVAL = 10.0
"""Seconds between the lines of `record` without a terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    args = _parser().parse_args(arguments)
    try:
        status: int = args.run(args)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except (SidelineError, ModuleNotFoundError, OSError, OverflowError, ValueError) as error:
        print(f"sideline: {error}", file=sys.stderr)
        return Exit.ERROR
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sideline",
        description="Client and simulator of a sports tracking data service.",
        epilog="Credentials are read from SIDELINE_USERNAME and SIDELINE_SECRET, and for the Broadcast API from "
        "SIDELINE_API_KEY. Each command has its own --help. To check your set-up, run sideline doctor. To try it "
        "without the service, run sideline demo. Exit status: 0 done, 1 error, 2 wrong usage, 3 incomplete, 4 only "
        "unknown fields, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"sideline {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="walk through a simulated season and write its tables as Parquet files",
        description="Serve a season on this machine, walk from its schedule to box score, stat events, possessions and "
        "shots, print the tables and write them as Parquet files. Needs neither the service nor credentials.",
    )
    demo.add_argument("--seed", type=int, default=7, help="which season (default: 7)")
    demo.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="the folder to write (default: demo-output)"
    )
    demo.set_defaults(run=_demo)

    simulate = commands.add_parser(
        "simulate",
        help="serve a simulated season until Ctrl-C",
        description="Serve the whole service on this machine until Ctrl-C, and print the variables that lead a client "
        "to it. With --now, the same seed gives the same bodies.",
    )
    simulate.add_argument("--port", type=int, default=0, help="the port to listen on (default: any free port)")
    simulate.add_argument("--seed", type=int, default=0, help="which season (default: 0)")
    simulate.add_argument(
        "--sport", choices=["basketball", "football"], default="basketball", help="default: basketball"
    )
    simulate.add_argument("--teams", type=int, default=16, metavar="COUNT", help="teams of the season (default: 16)")
    simulate.add_argument("--games", type=int, default=240, metavar="COUNT", help="games of the season (default: 240)")
    simulate.add_argument(
        "--now", metavar="TIME", help="the season's clock, frozen: ISO 8601 with a time zone (default: the real clock)"
    )
    simulate.add_argument(
        "--location-rate", type=int, default=2, metavar="COUNT", help="frames of locations per second (default: 2)"
    )
    simulate.add_argument("--play", action="store_true", help="play the next game at once, for `sideline live`")
    simulate.add_argument(
        "--speed", type=float, default=1.0, metavar="FACTOR", help="how fast --play plays (default: 1, in real time)"
    )
    _add_json(simulate, "print the variables as one line of JSON")
    simulate.set_defaults(run=_simulate)

    sync = commands.add_parser(
        "sync",
        help="sync new or changed data into an archive",
        description="Sync a season into Delta Lake tables; an interrupted sync resumes. Exit status: 0 complete, "
        "1 error, 3 incomplete (the holes are printed), 4 no holes, but unknown fields (they are printed). "
        "Credentials are read from the environment: SIDELINE_USERNAME, SIDELINE_SECRET.",
    )
    sync.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    sync.add_argument("--teams", type=int, nargs="+", metavar="ID", help="default: all that the credential may read")
    sync.add_argument("--games", nargs="+", metavar="ID", help="only these games")
    sync.add_argument("--from", dest="start", metavar="TIME", help="ISO 8601; a date alone is midnight UTC")
    sync.add_argument("--to", dest="end", metavar="TIME", help="default: now")
    sync.add_argument("--tables", nargs="+", metavar="TABLE", help="default: all but locations")
    sync.add_argument(
        "--correction-window",
        type=float,
        default=7.0,
        metavar="DAYS",
        help="how long after its end a game is requested again (default: 7); inf: always",
    )
    sync.add_argument("--allow-drift", action="store_true", help="exit with status 0, not 4, for unknown fields")
    _add_json(sync, "print the report as one line of JSON")
    sync.set_defaults(run=_sync)

    status = commands.add_parser(
        "status",
        help="show which games of an archive are complete, and problems of the others",
        description="Count the tables of games by verdict, and print those that are late, degraded, missing or "
        "forbidden, with the reasons. Needs no service. Exit status: 0 no problems, 1 error, 3 problems.",
    )
    status.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    status.add_argument("--teams", type=int, nargs="+", metavar="ID", help="default: all")
    status.add_argument(
        "--since", metavar="TIME", help="games that start at this time or later: ISO 8601; a date is midnight UTC"
    )
    status.add_argument("--json", action="store_true", help="print every verdict, as a JSON array of objects")
    status.set_defaults(run=_status)

    report = commands.add_parser(
        "report",
        help="write a morning report of an archive as one HTML page",
        description="Write one static page about an archive: freshness, coverage by team and month, holes with their "
        "reasons, corrections since the last report, schema drift, audit findings. An existing page at the same path "
        "says when the last report was made. Exit status: 0 written, 1 error, 3 written, and the archive has holes.",
    )
    report.add_argument("path", metavar="ARCHIVE", help="a folder, or s3://.., gs://.., az://..")
    report.add_argument("-o", "--out", type=Path, default=Path("report.html"), help="default: report.html")
    report.add_argument("--since", metavar="TIME", help="corrections since this time; ISO 8601 (default: last report)")
    _add_json(report, "print a summary as one line of JSON")
    report.set_defaults(run=_report)

    export = commands.add_parser(
        "export",
        help="bring another database up to date with an archive",
        description="Write the changes since the last export, in one transaction. Exit status: 0 done, 1 error.",
    )
    export.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    export.add_argument("--to", required=True, metavar="ADDRESS", help="postgresql://.. or duckdb:///file.duckdb")
    export.add_argument("--schema", choices=("evolve", "freeze"), default="evolve", help="what to do with new columns")
    export.set_defaults(run=_export)

    compact = commands.add_parser("compact", help="compact the small files of an archive")
    compact.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    compact.set_defaults(run=_compact)

    vacuum = commands.add_parser("vacuum", help="delete replaced files of an archive")
    vacuum.add_argument("path", metavar="PATH", help="a folder, or s3://.., gs://.., az://..")
    vacuum.add_argument("--retain", type=float, default=7.0, metavar="DAYS", help="default: 7")
    vacuum.set_defaults(run=_vacuum)

    doctor = commands.add_parser(
        "doctor",
        help="check the set-up; exit status 1 if a check fails",
        description="Check the set-up step by step: settings and their sources (secrets by their length only), proxy, "
        "DNS, TCP, TLS, the clock, the signature, privileges, the websocket, the Broadcast key. Each line is ok, "
        "failed, missing (a privilege that was not granted) or skipped, and says what to do. Sends about ten small "
        "requests. Exit status: 0 no check failed, 1 a check failed.",
    )
    doctor.add_argument(
        "--environment",
        choices=["production", "development"],
        help="default: SIDELINE_ENVIRONMENT, else production",
    )
    doctor.add_argument("--sport", choices=["basketball", "football"], help="default: SIDELINE_SPORT, else basketball")
    _add_json(doctor, "print the checks as one line of JSON")
    doctor.set_defaults(run=_doctor)

    live = commands.add_parser(
        "live",
        help="watch a game in the terminal or a browser, until Ctrl-C",
        description="Show score, clock, box score, last plays and notices of a game in the terminal, if rich is "
        "installed. Otherwise, and if standard output is not a terminal, print a line for each update, and notices on "
        "standard error. With --serve, show the game as a page for browsers on this machine. Exit status: 0, or 1 if "
        "the service refused and nothing was received.",
    )
    _add_stream(live).add_argument("game", nargs="?", metavar="GAME", help="the same as --game-id GAME")
    shown = live.add_mutually_exclusive_group()
    shown.add_argument(
        "--json", action="store_true", help="print each update as the service sent it, one JSON document per line"
    )
    shown.add_argument("--serve", action="store_true", help="print the address of a page that shows the game")
    live.add_argument("--port", type=int, metavar="PORT", help="with --serve: its port (default: any free port)")
    live.set_defaults(run=_live, refuse=live.error)

    record = commands.add_parser(
        "record",
        help="append a live stream to a journal, until Ctrl-C",
        description="Append each item of a live stream to a journal, which sideline.replay replays, until Ctrl-C. A "
        "killed recorder loses at most one second. Exit status: 0, or 1 if the service refused and nothing was "
        "received.",
    )
    _add_stream(record)
    record.add_argument("path", type=Path, metavar="PATH", help="the journal, which is created or continued")
    record.set_defaults(run=_record)

    replay = commands.add_parser(
        "replay",
        help="print the items of a journal, at their original pace",
        description="Print a line for each update and notice of a journal that sideline record wrote, at the original "
        "pace. A gap shows where it is damaged or its recorder was killed. With --json a line is an object "
        "with kind and received_at, and for an update its event, id, seq, source and data. Exit status: 0 replayed to "
        "its end, 1 not a journal.",
    )
    replay.add_argument("path", type=Path, metavar="PATH", help="the journal")
    replay.add_argument("--speed", type=float, default=1.0, help="60 plays a minute per second (default: 1)")
    replay.add_argument(
        "--max-pause", type=float, default=1.0, metavar="S", help="most seconds between two recordings (default: 1)"
    )
    replay.add_argument("--fast", action="store_true", help="without waiting")
    _add_json(replay, "print each item as a line of JSON")
    replay.set_defaults(run=_replay)

    completion = commands.add_parser(
        "completion",
        help="print a completion script for a shell",
        description="Print a script that completes commands and options. For bash, put "
        'eval "$(sideline completion bash)" into ~/.bashrc; for zsh, the same with zsh into ~/.zshrc; for fish, run '
        "sideline completion fish > ~/.config/fish/completions/sideline.fish.",
    )
    completion.add_argument("shell", choices=SHELLS, help="which shell")
    completion.set_defaults(run=_complete)

    return parser


def _add_json(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", dest="as_json", help=what)


def _print_json(content: object) -> None:
    print(json.dumps(content, ensure_ascii=False, default=_plain), flush=True)


def _plain(value: object) -> object:
    """Convert types that JSON lacks; times become ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _report(args: argparse.Namespace) -> int:
    from .archive import Archive

    archive = Archive(args.path)
    archive.report(args.out, since=args.since)
    info = archive.info()
    if args.as_json:
        facts = {"games": info.games, "holes": len(info.holes), "last_fetched": info.fetched_at}
        _print_json({"archive": args.path, "report": str(args.out), **facts})
    else:
        print(f"{args.out}: {info.games} games, {len(info.holes)} hole{'s' * (len(info.holes) != 1)}")
    return Exit.INCOMPLETE if info.holes else Exit.DONE


def _replay(args: argparse.Namespace) -> int:
    from .journal import replay
    from .live import describe_notice, describe_update

    speed = None if args.fast else args.speed
    for item in replay(args.path, speed, max_pause=args.max_pause):
        line: dict[str, object]
        if isinstance(item, Update):
            line = {"kind": "update", "received_at": item.received_at, "event": item.event, "id": item.id}
            line |= {"seq": item.seq, "source": item.source, "data": item.text}
        else:
            line = {"kind": type(item).__name__.lower(), **fields_of(item)}
        if args.as_json:
            _print_json(line)
        else:
            print(describe_update(item) if isinstance(item, Update) else describe_notice(item), flush=True)
    return Exit.DONE


def fields_of(of: object) -> dict[str, object]:
    """Return the fields of a dataclass."""
    return {name: getattr(of, name) for name in getattr(of, "__dataclass_fields__", ())}


def _complete(args: argparse.Namespace) -> int:
    print(script(args.shell, _parser()), end="")
    return Exit.DONE


def _add_stream(parser: argparse.ArgumentParser) -> "argparse._MutuallyExclusiveGroup":
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--schedule-id", metavar="ID", help="the Broadcast API's event stream of a game")
    which.add_argument("--game-id", metavar="ID", help="the live websocket of a game")
    return which


def _demo(args: argparse.Namespace) -> int:
    from ._command import demo

    demo(args.seed, args.out)
    return Exit.DONE


def _simulate(args: argparse.Namespace) -> int:
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
            _print_json(service.environ)
        else:
            print("# The simulated service runs until Ctrl-C. In another shell:")
            for name, value in service.environ.items():
                print(f"export {name}={value}")
        if args.play:
            _play_next(service, args.speed)
        # A reader of a pipe waits for these lines.
        sys.stdout.flush()
        # In short steps: a signal that comes just before a sleep does not interrupt it.
        while True:
            time.sleep(0.2)
    return Exit.DONE


def _play_next(service: Simulator, speed: float) -> None:
    """Play the game that is the next to begin, and say how to see it; the lines are comments of a shell."""
    now = time.time() * 1000
    game = min(
        (game for game in service.games if game["tipoff_at"] > now), key=lambda game: game["tipoff_at"], default=None
    )
    game = game or service.games[-1]
    service.play(game["event_id"], speed)
    print(
        f"# Playing {game['away_team_name']} at {game['home_team_name']}: sideline live --game-id {game['event_id']}",
        file=sys.stderr,
    )


def _sync(args: argparse.Namespace) -> int:
    from ._command import sync_archive

    if args.start is None and args.games is None:
        raise ValueError("give the range: --from, and --to where it is not now; or --games")
    try:
        window = None if args.correction_window == math.inf else timedelta(days=args.correction_window)
    except (OverflowError, ValueError):
        raise ValueError(f"--correction-window is {args.correction_window}; it is a number of days, or inf") from None
    return sync_archive(
        args.path,
        args.teams,
        args.games,
        args.start,
        args.end,
        args.tables,
        window,
        allow_drift=args.allow_drift,
        as_json=args.as_json,
    )


def _status(args: argparse.Namespace) -> int:
    from ._command import print_status

    return print_status(args.path, args.teams, args.since, as_json=args.json)


def _export(args: argparse.Namespace) -> int:
    from .archive import Archive

    done = Archive(args.path).export(args.to, schema=args.schema)
    print(f"{args.path}: {done.units} units, {sum(done.rows.values())} rows exported")
    return Exit.DONE


def _compact(args: argparse.Namespace) -> int:
    from .archive import Archive

    Archive(args.path).compact()
    return Exit.DONE


def _vacuum(args: argparse.Namespace) -> int:
    from .archive import Archive

    try:
        retain = timedelta(days=args.retain)
    except (OverflowError, ValueError):
        raise ValueError(f"--retain is {args.retain}; it is a number of days") from None
    print(f"{args.path}: {Archive(args.path).vacuum(retain=retain)} files deleted")
    return Exit.DONE


def _doctor(args: argparse.Namespace) -> int:
    from ._client import Client

    with Client(environment=args.environment, sport=args.sport) as client:
        report = client.doctor()
    if args.as_json:
        _print_json({"ok": report.ok, "checks": [fields_of(check) for check in report]})
    else:
        print(report)
    return Exit.DONE if report.ok else Exit.ERROR


def _live(args: argparse.Namespace) -> int:
    from ._client import Client
    from .live import can_redraw, in_terminal

    if args.port is not None and not args.serve:
        args.refuse("--port needs --serve")
    refusal = _Refusal()
    args.game_id = args.game_id if args.game is None else args.game
    is_redrawn = not args.json and can_redraw()
    with Client() as client:
        stream = _stream(client, args)
        # Before signals only set a flag, so that Ctrl-C ends these requests.
        score = _score_so_far(client, args.game_id if args.serve or is_redrawn else None)
        with _until_stopped() as is_stopped, stream:
            if args.serve:
                _serve(stream, score, refusal, is_stopped, args.port or 0)
            elif is_redrawn:
                in_terminal(stream, score, refusal.add, is_stopped)
            else:
                _print(stream, refusal, is_stopped, as_json=args.json)
    return _status_of_stream(stream, refusal.reason)


class _Refusal:
    """The reason of the last refusal among the items of a stream, if the service responded with a status."""

    reason: str | None = None

    def add(self, item: object) -> None:
        if isinstance(item, Disconnected) and item.status is not None:
            self.reason = item.reason


def _score_so_far(client: "Client", game_id: str | None) -> "LiveBoxScore":
    """Return a box score with the names of teams and players, which messages may lack; an error is only printed."""
    from .live import LiveBoxScore

    score = LiveBoxScore()
    if game_id is None:
        return score
    try:
        sides = client.game(game_id).to_dict().get("game_attributes") or {}
        for team in (sides.get("home_team_id"), sides.get("away_team_id")):
            if team is not None:
                score.seed(client.team_game_stats(team, game_id=game_id))
    except (SidelineError, ValueError) as error:
        print(f"sideline: names of players may be missing: {error}", file=sys.stderr, flush=True)
    return score


def _serve(
    stream: "LiveStream", score: "LiveBoxScore", refusal: _Refusal, stopped: Callable[[], bool], port: int
) -> None:
    """Serve a page until the stream ends; notices are also printed."""
    from .live import LivePage, describe_notice

    def tell(item: object) -> None:
        refusal.add(item)
        if not isinstance(item, Update):
            print(describe_notice(item), file=sys.stderr, flush=True)

    with LivePage(stream, score, port, tell) as page:
        print(page.url, flush=True)
        while not stopped() and not page.wait(0.2):
            pass


def _record(args: argparse.Namespace) -> int:
    from ._client import Client

    with Client() as client:
        stream = _stream(client, args)
        with _until_stopped() as is_stopped, stream.record(args.path):
            refusal = _watch(stream, is_stopped)
    stats = stream.stats
    print(f"recorded {_summary(stats.updates, stats.bytes, stats.gaps)} to {args.path}")
    return _status_of_stream(stream, refusal)


def _stream(client: "Client", args: argparse.Namespace) -> "LiveStream":
    game, schedule = args.game_id, args.schedule_id
    stream = client.live(game) if game is not None else client.live_stats(schedule)
    # Check before a journal is created.
    core_of(client).check_credentials(broadcast=game is None)
    return stream


@contextmanager
def _until_stopped() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether a signal came, so that a loop can end between two items."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    previous = [(number, signal.signal(number, stop)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield lambda: stopped
    finally:
        for number, handler in previous:
            signal.signal(number, handler)


def _status_of_stream(stream: "LiveStream", refusal: str | None) -> int:
    if not stream.stats.updates and refusal:
        print(f"sideline: nothing was received: {refusal}", file=sys.stderr)
        return Exit.ERROR
    return Exit.DONE


def _print(stream: "LiveStream", refusal: _Refusal, stopped: Callable[[], bool], *, as_json: bool) -> None:
    """Print items until the stream ends."""
    from .live import describe_notice, describe_update

    core = core_of_stream(stream)
    while not stopped():
        item = core.next_within(0.2)
        if item is None and core.ended and (item := core.take()) is None:
            break
        if isinstance(item, Update):
            print(_document(item) if as_json else describe_update(item), flush=True)
        elif item is not None:
            print(describe_notice(item), file=sys.stderr, flush=True)
        refusal.add(item)


def _document(update: Update) -> str:
    try:
        return json.dumps(update.to_dict())
    except DecodeError:
        return json.dumps(update.text)


def _watch(stream: "LiveStream", stopped: Callable[[], bool]) -> str | None:
    """Take and count items; return the last refusal, if the service responded with a status."""
    terminal = sys.stderr.isatty()
    every = 0.5 if terminal else _LINE_INTERVAL
    last: datetime | None = None
    last_line = time.monotonic()
    core = core_of_stream(stream)
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
            if time.monotonic() - last_line >= every:
                last_line = time.monotonic()
                stats = stream.stats
                when = f"last received {last.astimezone():%H:%M:%S}" if last else "nothing received yet"
                line = f"{_summary(stats.updates, stats.bytes, stats.gaps)}, {when}"
                print(
                    f"\r{line}\033[K" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True
                )
    finally:
        if terminal:
            print(file=sys.stderr)
    return refusal


def _summary(updates: int, size: int, gaps: int) -> str:
    sized = f"{size} bytes" if size < 1000 else f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
    return f"{updates} update{'s' * (updates != 1)}, {sized}, {gaps} gap{'s' * (gaps != 1)}"
