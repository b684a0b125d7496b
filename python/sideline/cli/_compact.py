"""`sideline compact` and `sideline vacuum`: the files of an archive."""

import argparse
from datetime import timedelta

from .._rows import count_text
from ._exits import Exit
from ._parser import Commands, add_archive, add_command, days


def add(commands: Commands) -> None:
    """Add the commands."""
    compact = add_command(
        commands,
        "compact",
        run,
        "compact the small files of an archive",
        "Write the rows of many small files into few large ones. Replaced files stay until sideline vacuum.",
    )
    add_archive(compact)
    vacuum = add_command(
        commands,
        "vacuum",
        run_vacuum,
        "delete replaced files of an archive",
        "Delete files that were replaced some days ago, which only queries of the past still read.",
    )
    add_archive(vacuum)
    vacuum.add_argument(
        "--retain",
        type=days,
        default=timedelta(days=7),
        metavar="DAYS",
        help="keep files that were replaced in the last DAYS days (default: 7)",
    )


def run(args: argparse.Namespace) -> int:
    """Compact."""
    from ..archive import Archive

    Archive(args.path).compact()
    return Exit.DONE


def run_vacuum(args: argparse.Namespace) -> int:
    """Delete replaced files, and print their number."""
    if args.retain is None:
        args.parser.error("argument --retain: inf keeps every file; write a number of days")
    from ..archive import Archive

    print(f"{args.path}: {count_text(Archive(args.path).vacuum(retain=args.retain), 'file')} deleted")
    return Exit.DONE
