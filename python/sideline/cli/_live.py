"""`sideline live`: a game in the terminal or a browser."""

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .._client import core_of
from .._core import Update
from ..errors import DecodeError, PermissionDenied, SidelineError
from ._client import open_client
from ._parser import Commands, add_command, port, print_error, print_line
from ._streams import Refusal, add_stream, open_stream, status_of_stream, until_stopped

if TYPE_CHECKING:
    from .._client import Client
    from ..live import LiveBoxScore, LiveStream, PageOptions


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "live",
        run,
        "watch a game in the terminal or a browser, until Ctrl-C",
        "Show score, clock, box score, last plays and notices of a game in the terminal, if rich is installed. "
        "Otherwise, and if standard output is not a terminal, print a line for each update, and notices on standard "
        "error. With --serve, show the game as a page for browsers on this machine. Exit status: 0, or 1 if the "
        "service refused and nothing was received.",
    )
    add_stream(parser).add_argument("game", nargs="?", metavar="GAME", help="the same as --game-id GAME")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        help="print each update, and each state requested after a gap, as the service sent it, one JSON document per "
        "line",
    )
    form.add_argument("--serve", action="store_true", help="print the address of a page that shows the game")
    parser.add_argument("--port", type=port, metavar="PORT", help="with --serve: its port (default: any free port)")
    parser.add_argument(
        "--feed",
        action="store_true",
        help="with --serve: also /score.json, /feed.json, /feed.csv, /feed.xml, /overlay and /healthz "
        "(documentation: On air)",
    )
    parser.add_argument(
        "--delay",
        type=float,
        metavar="SECONDS",
        help="with --serve: show the game as it was this many seconds ago, like delayed pictures",
    )
    parser.add_argument(
        "--host", metavar="HOST", help="with --serve: the address to listen at (default: 127.0.0.1); needs --token"
    )
    parser.add_argument(
        "--token", metavar="TOKEN", help="with --serve: what each address must have as ?token=; it is not printed"
    )


def run(args: argparse.Namespace) -> int:
    """Show the game until it ends or Ctrl-C."""
    from ..live import PageOptions, can_redraw, in_terminal, is_screen

    for option in ("port", "feed", "delay", "host", "token"):
        if getattr(args, option) not in (None, False) and not args.serve:
            args.parser.error(f"--{option} needs --serve")
    host, port_number, delay_s = args.host or "127.0.0.1", args.port or 0, args.delay or 0.0
    options = PageOptions(host, port_number, args.token, has_feed=args.feed, delay_s=delay_s)
    refusal = Refusal()
    args.game_id = args.game_id if args.game is None else args.game
    is_redrawn = not args.as_json and can_redraw()
    if is_screen() and not (is_redrawn or args.as_json or args.serve):
        print_error('a line for each update follows; for a box score on the screen: pip install "sideline[cli]"')
    with open_client() as client:
        stream = open_stream(client, args)
        # Before signals only set a flag, so that Ctrl-C ends these requests.
        score = score_so_far(client, args.game_id if args.serve or is_redrawn else None)
        with until_stopped() as is_stopped, stream:
            if args.serve:
                _serve(stream, score, refusal, is_stopped, options)
            elif is_redrawn:
                in_terminal(stream, score, refusal.add, is_stopped)
            else:
                _print(stream, refusal, is_stopped, as_json=args.as_json)
    return status_of_stream(stream, refusal.reason)


def score_so_far(client: "Client", game_id: str | None) -> "LiveBoxScore":
    """Return a box score with the names of teams and players, which messages may lack; an error is only printed."""
    from ..live import LiveBoxScore

    score = LiveBoxScore(sport=core_of(client).sport)
    if game_id is None:
        return score
    team_ids: list[int] = []
    with _printing_errors():
        for event in client.game(game_id).table("events").to_dicts():
            team_ids += [event[f"{side}_team_id"] for side in ("home", "away") if event[f"{side}_team_id"] is not None]
    for team_id in team_ids:
        with _printing_errors():
            score.seed(client.team_game_stats(team_id, game_id=game_id))
        with _printing_errors(), suppress(PermissionDenied):
            score.seed(client.roster(team_id))
    return score


@contextmanager
def _printing_errors() -> Iterator[None]:
    """Print an error of one request, so that the others bring what they have."""
    try:
        yield
    except (SidelineError, ValueError) as error:
        print_error(f"names of players may be missing: {error}")


def _serve(
    stream: "LiveStream",
    score: "LiveBoxScore",
    refusal: Refusal,
    is_stopped: Callable[[], bool],
    options: "PageOptions",
) -> None:
    """Serve a page until the stream ends; notices are also printed."""
    from ..live import LivePage, describe_notice

    def report(item: object) -> None:
        refusal.add(item)
        if not isinstance(item, Update):
            print_line(describe_notice(item))

    with LivePage(stream, score, options, report) as page:
        print(page.address, flush=True)
        while not is_stopped() and not page.wait(0.2):
            pass


def _print(stream: "LiveStream", refusal: Refusal, is_stopped: Callable[[], bool], *, as_json: bool) -> None:
    """Print items until the stream ends."""
    from ..live import Recovered, Recovering, describe_notice, describe_update, follow

    for item in follow(stream, is_stopped):
        if isinstance(item, Update):
            print(_document(item) if as_json else describe_update(item), flush=True)
        elif item is not None:
            print_line(describe_notice(item))
        # Without a time of the request it is the update before.
        if as_json and isinstance(item, (Recovering, Recovered)) and item.requested_at is not None:
            for state in item.updates:
                print(_document(state), flush=True)
        refusal.add(item)


def _document(update: Update) -> str:
    try:
        return json.dumps(update.to_dict())
    except DecodeError:
        return json.dumps(update.text)
