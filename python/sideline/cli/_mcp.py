"""`sideline mcp`: an archive for an assistant."""

import argparse

from .._lazy import library
from ._exits import Exit
from ._parser import Commands, add_archive, add_command


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "mcp",
        run,
        "serve an archive to an assistant, by the Model Context Protocol",
        "Serve the tables of an archive over standard input and output to a program that starts this command. Nothing "
        "is written but mcp-log.jsonl in the user's state folder, which records the calls.",
    )
    add_archive(parser)
    parser.add_argument(
        "--allow",
        choices=["tracking"],
        help="serve personal data too: positions and loads of players",
    )
    parser.add_argument("--no-log", action="store_true", help="do not record the calls")


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends."""
    library("mcp", "mcp")
    from .._companions import serve

    serve(args.path, positions=args.allow == "tracking", is_logged=not args.no_log)
    return Exit.DONE
