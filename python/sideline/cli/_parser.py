"""The parser of the command: wrong arguments end it with status 2 and one sentence, with what was meant."""

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn, TextIO

from .._rows import did_you_mean
from ._exits import Exit

Commands = Any
"""What `add_subparsers` returns, whose class argparse does not name."""

_INVALID_CHOICE = re.compile(r"invalid choice: '?(.*?)'? \(choose from (.*)\)")


class Parser(argparse.ArgumentParser):
    """A parser that suggests commands, options and values."""

    def __init__(self, **options: Any) -> None:
        self.options: list[str] = []
        super().__init__(**options, allow_abbrev=False)

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument, and know its options."""
        self.options += [name for name in names if name.startswith("-")]
        return super().add_argument(*names, **options)

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        if match := _INVALID_CHOICE.search(message):
            message += did_you_mean(match[1], re.findall(r"[\w-]+", match[2]))
        self.exit(Exit.USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def check_rest(self, rest: Sequence[str]) -> None:
        """End with status 2 if arguments are left over."""
        if rest:
            option = rest[0].partition("=")[0]
            hint = did_you_mean(option, self.options) if option.startswith("-") else ""
            self.error(f"there is no argument {rest[0]}{hint}")


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], summary: str, description: str
) -> Parser:
    """Add a command; `summary` is its line in the list of commands."""
    parser: Parser = commands.add_parser(name, help=summary, description=description)
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_archive(parser: Parser) -> None:
    """Add the path of an archive."""
    parser.add_argument("path", metavar="ARCHIVE", help="the archive: a folder, or s3://.., gs://.., az://..")


def add_json(parser: Parser, meaning: str) -> None:
    """Add the option for scripts."""
    parser.add_argument("--json", action="store_true", dest="as_json", help=meaning)


def add_list(parser: Parser, name: str, meaning: str, *, kind: Callable[[str], Any] = str, metavar: str = "ID") -> None:
    """Add an option that takes several values: repeated, or with commas, so that it never takes the next argument."""

    def values(text: str) -> list[Any]:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts:
            # An empty variable of a script would otherwise choose nothing, and report that nothing is missing.
            raise argparse.ArgumentTypeError(f"no {metavar} in {text!r}: name one, or leave the option out")
        return [kind(part) for part in parts]

    parser.add_argument(
        name, type=values, action="extend", metavar=metavar, help=f"{meaning}; repeat it, or use commas"
    )


def number(noun: str, first: int, last: int) -> Callable[[str], int]:
    """Return the type of an option with whole numbers."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a {noun}; write a whole number") from None
        if not first <= value <= last:
            raise argparse.ArgumentTypeError(f"{value} is not a {noun}; it must be from {first} to {last}")
        return value

    return convert


port = number("port", 0, 65_535)
team_id = number("team id", 0, 2**63 - 1)


def days(text: str) -> timedelta | None:
    """Return a number of days; `None`: without limit."""
    try:
        value = float(text)
        if value == math.inf:
            return None
        if value >= 0:
            return timedelta(days=value)
    except (OverflowError, ValueError):
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of days; write one of at least 0, such as 7, or inf")


def print_error(text: object) -> None:
    """Print an error on standard error."""
    print_line(f"sideline: {text}")


def print_line(text: str, end: str = "\n") -> None:
    """Print a line on standard error; if its reader has gone or its disk is full, the command is not affected."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let a standard stream that cannot be written to take all that follows, as Python's flush at exit, and lose it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
