"""The exit statuses of the `sideline` command."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended (documentation: Command line)."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    INCOMPLETE = 3
    UNKNOWN_FIELDS = 4
    INTERRUPTION = 130
