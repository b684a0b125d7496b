"""`sideline status`: which games of an archive are complete."""

import argparse
from collections import Counter

from .._rows import count_text, visible
from ._exits import Exit
from ._output import print_json
from ._parser import Commands, add_archive, add_command, add_json, add_list, team_id


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "status",
        run,
        "show which games of an archive are complete, and problems of the others",
        "Count the tables of games by verdict, and print those that are late, degraded, missing or forbidden, with the "
        "reasons. Needs no service. Exit status: 0 no problems, 1 error, 3 problems.",
    )
    add_archive(parser)
    add_list(parser, "--teams", "only games of these teams", kind=team_id)
    parser.add_argument(
        "--since", metavar="TIME", help="games that start at this time or later: ISO 8601; a date is midnight UTC"
    )
    add_json(parser, "print every verdict, as a JSON array of objects")


def run(args: argparse.Namespace) -> int:
    """Print the verdicts. Returns the exit status: 0 without problems, 3 otherwise."""
    from ..archive import PROBLEMS, SEVERITY, Archive

    rows = Archive(args.path).status(args.teams, args.since).to_dicts()
    problems = [row for row in rows if row["status"] in PROBLEMS]
    if args.as_json:
        print_json(rows)
        return Exit.INCOMPLETE if problems else Exit.DONE
    counts = Counter(row["status"] for row in rows)
    state = "no problems" if not problems else f"{count_text(len(problems), 'table')} with problems"
    summary = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in reversed(SEVERITY) if counts[verdict])
    print(f"{args.path}: {state}; {summary or 'no games'}")
    tables: dict[tuple[str, str, str], list[str]] = {}
    for row in problems:
        tables.setdefault((row["game_id"], row["status"], "; ".join(row["reasons"])), []).append(row["table"])
    for (game_id, status, reasons), names in tables.items():
        print(visible(f"{game_id} {', '.join(names)} {status}: {reasons}"))
    return Exit.INCOMPLETE if problems else Exit.DONE
