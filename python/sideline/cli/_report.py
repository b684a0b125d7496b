"""`sideline report`: a morning report of an archive."""

import argparse
from pathlib import Path

from .._rows import count_text
from ._exits import Exit
from ._output import print_json
from ._parser import Commands, add_archive, add_command, add_json


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "report",
        run,
        "write a morning report of an archive as one HTML page",
        "Write one static page about an archive: verdicts, last night's scores and leaders, loads and shot quality, "
        "holes with their reasons, corrections since the last report in any folder, audit findings. "
        "Exit status: 0 written, 1 error, 3 written, and the archive has holes.",
    )
    add_archive(parser)
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("report.html"),
        help="the page to write; - is standard output (default: report.html)",
    )
    parser.add_argument("--since", metavar="TIME", help="corrections since this time; ISO 8601 (default: last report)")
    parser.add_argument(
        "--tz", metavar="ZONE", help="the zone of the times, such as America/New_York (default: SIDELINE_TZ, else UTC)"
    )
    add_json(parser, "print a summary as one line of JSON")


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    from ..archive import Archive

    archive = Archive(args.path)
    archive.report(args.out, since=args.since, tz=args.tz)
    info = archive.info()
    # Nothing follows a page on standard output.
    if str(args.out) == "-" or not args.out.is_file():
        return Exit.INCOMPLETE if info.holes else Exit.DONE
    if args.as_json:
        facts = {"games": info.games, "holes": len(info.holes), "last_fetched": info.fetched_at}
        print_json({"archive": args.path, "report": str(args.out), **facts})
    else:
        print(f"{args.out}: {count_text(info.games, 'game')}, {count_text(len(info.holes), 'hole')}")
    return Exit.INCOMPLETE if info.holes else Exit.DONE
