"""What only the command needs: exit statuses, completion, the demonstration."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .archiving import print_status as print_status, sync_archive as sync_archive
    from .completion import SHELLS as SHELLS, script as script
    from .demonstration import demo as demo
    from .exits import Exit as Exit
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "archiving": "print_status sync_archive",
            "completion": "SHELLS script",
            "demonstration": "demo",
            "exits": "Exit",
        },
    )
