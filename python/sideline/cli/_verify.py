"""`sideline verify`: a published season compared with its manifest."""

import argparse

from ._exits import Exit
from ._parser import Commands, add_command


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "verify",
        run,
        "compare a published season with its manifest",
        "Compare the files that archive.publish wrote with their manifest: sizes and SHA-256. Exit status: 0 all files "
        "are as published, 1 a line for each changed, missing or additional file.",
    )
    parser.add_argument("path", metavar="FOLDER", help="the published season")


def run(args: argparse.Namespace) -> int:
    """Print a line for each file that differs."""
    from ..archive import verify

    problems = verify(args.path)
    for problem in problems:
        print(problem)
    return Exit.ERROR if problems else Exit.DONE
