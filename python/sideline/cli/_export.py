"""`sideline export`: another database brought up to date with an archive."""

import argparse

from .._rows import count_text
from ._exits import Exit
from ._parser import Commands, add_archive, add_command, add_list, print_error


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "export",
        run,
        "bring another database up to date with an archive",
        "Write the changes since the last export, in one transaction. Exit status: 0 done, 1 error.",
    )
    add_archive(parser)
    parser.add_argument(
        "--to",
        required=True,
        metavar="ADDRESS",
        help="the database to write: postgresql://.. or duckdb:///absolute/path.duckdb",
    )
    add_list(parser, "--tables", "the tables to write (default: all)", metavar="TABLE")
    parser.add_argument(
        "--schema",
        choices=("evolve", "freeze"),
        default="evolve",
        help="add columns that the database lacks, or refuse them after the first export (default: evolve)",
    )


def run(args: argparse.Namespace) -> int:
    """Export, and print what was written."""
    from ..archive import Archive

    done = Archive(args.path).export(args.to, args.tables, schema=args.schema)
    for problem in done.problems:
        print_error(problem)
    print(f"{args.path}: {count_text(done.units, 'unit')}, {count_text(sum(done.rows.values()), 'row')} exported")
    return Exit.DONE
