"""`sideline replay`: the items of a journal."""

import argparse
from pathlib import Path

from .._core import Update
from ._exits import Exit
from ._output import fields_of, print_json
from ._parser import Commands, add_command, add_json


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "replay",
        run,
        "print the items of a journal, at their original pace",
        "Print a line for each update and notice of a journal that sideline record wrote, at the original pace. A gap "
        "shows where it is damaged or its recorder was killed. With --json a line is an object with kind and the "
        "fields of the item: of an update received_at, event, id, seq, source and data. Exit status: 0 replayed to its "
        "end, 1 not a journal.",
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="the journal")
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--speed", type=float, default=1.0, help="how fast: 60 plays a minute per second (default: 1)")
    pace.add_argument("--fast", action="store_true", help="print without waiting")
    parser.add_argument(
        "--max-pause",
        type=float,
        default=1.0,
        metavar="S",
        help="at most this many seconds between two recordings (default: 1)",
    )
    add_json(parser, "print each item as a line of JSON")


def run(args: argparse.Namespace) -> int:
    """Print the items."""
    from ..journal import replay
    from ..live import describe_notice, describe_update

    speed = None if args.fast else args.speed
    for item in replay(args.path, speed, max_pause=args.max_pause):
        if args.as_json:
            print_json(_line(item))
        else:
            print(describe_update(item) if isinstance(item, Update) else describe_notice(item), flush=True)
    return Exit.DONE


def _line(item: object) -> dict[str, object]:
    """Return an item as an object of JSON; the gap and the updates of a notice are such objects too."""
    if isinstance(item, Update):
        line: dict[str, object] = {"kind": "update", "received_at": item.received_at, "event": item.event}
        return {**line, "id": item.id, "seq": item.seq, "source": item.source, "data": item.text}
    fields = fields_of(item)
    if "gap" in fields:
        fields["gap"] = _line(fields["gap"])
    if isinstance(updates := fields.get("updates"), tuple):
        fields["updates"] = [_line(update) for update in updates]
    return {"kind": type(item).__name__.lower(), **fields}
