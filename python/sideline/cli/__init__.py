"""The `sideline` command: one module for each command."""

import os
import sys
import warnings
from collections.abc import Sequence

from .._core import __version__
from ..errors import InvalidRequest, SidelineError
from . import (
    _capture,
    _compact,
    _completion,
    _demo,
    _doctor,
    _export,
    _live,
    _mcp,
    _record,
    _replay,
    _report,
    _simulate,
    _status,
    _sync,
    _verify,
)
from ._exits import Exit
from ._output import escape_missing_characters
from ._parser import Parser, discard, print_error

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; arguments that it does not know end the process with status 2.

    >>> from sideline import cli
    >>> int(cli.main(["status", "no-such-folder"]))
    1
    """
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_WRONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:  # closed before the start
            null = os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8", closefd=False))
    escape_missing_characters(sys.stdout)
    parser = command_parser()
    args, rest = parser.parse_known_args(arguments)
    args.parser.check_rest(rest)
    format_of_caller, warnings.formatwarning = warnings.formatwarning, lambda message, *_: f"sideline: {message}\n"
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTION
    except BrokenPipeError:
        # The reader has what it wanted.
        discard(sys.stdout)
        return Exit.DONE
    except (SidelineError, MemoryError, ModuleNotFoundError, OSError, OverflowError, ValueError) as error:
        print_error(str(error) or "no memory")
        # A library's own ValueError, such as that of a damaged file, is not about an argument.
        return Exit.USAGE if type(error) in (ValueError, OverflowError, InvalidRequest) else Exit.ERROR
    finally:
        warnings.formatwarning = format_of_caller
    return status


def command_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="sideline",
        description="Client and simulator of a sports tracking data service.",
        epilog="Credentials are read from SIDELINE_USERNAME and SIDELINE_SECRET, and for the Broadcast API from "
        "SIDELINE_API_KEY. Each command has its own --help. To check your set-up, run sideline doctor. To try it "
        "without the service, run sideline demo. Exit status: 0 done, 1 error, 2 wrong usage, 3 incomplete, 4 only "
        "unknown fields, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"sideline {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (
        _demo,
        _simulate,
        _sync,
        _status,
        _report,
        _export,
        _verify,
        _compact,
        _mcp,
        _doctor,
        _capture,
        _live,
        _record,
        _replay,
    ):
        command.add(commands)
    _completion.add(commands, parser)
    return parser
