"""`sideline completion`: completion by the shell."""

import argparse

from .._lazy import library
from ._exits import Exit
from ._parser import Commands, Parser, add_command

SHELLS = ("bash", "zsh", "fish")


def add(commands: Commands, complete_parser: Parser) -> None:
    """Add the command; `complete_parser` is the parser whose commands and options a shell offers."""

    def run(args: argparse.Namespace) -> int:
        print(library("shtab", "cli").complete(complete_parser, args.shell))
        return Exit.DONE

    parser = add_command(
        commands,
        "completion",
        run,
        "print a completion script for a shell",
        'Print a script that completes commands and options; it needs pip install "sideline[cli]". For bash, put '
        'eval "$(sideline completion bash)" into ~/.bashrc; for zsh, write the script to a file _sideline in a folder '
        "of $fpath; for fish, run sideline completion fish > ~/.config/fish/completions/sideline.fish.",
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")
