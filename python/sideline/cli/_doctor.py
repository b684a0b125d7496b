"""`sideline doctor`: a check of the set-up."""

import argparse

from ._client import open_client
from ._exits import Exit
from ._output import fields_of, print_json
from ._parser import Commands, add_command, add_json


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "doctor",
        run,
        "check the set-up; exit status 1 if a check fails",
        "Check the set-up step by step: settings and their sources (secrets by their length only), proxy, DNS, TCP, "
        "TLS, the clock, the signature, privileges, the websocket, the Broadcast key. Each line is ok, failed, missing "
        "(a privilege that was not granted) or skipped, and says what to do. Sends about ten small requests. Exit "
        "status: 0 no check failed, 1 a check failed.",
    )
    parser.add_argument(
        "--environment",
        choices=["production", "development"],
        help="which of the service's environments (default: SIDELINE_ENVIRONMENT, else production)",
    )
    parser.add_argument(
        "--sport",
        choices=["basketball", "football"],
        help="which of the service's sports (default: SIDELINE_SPORT, else basketball)",
    )
    add_json(parser, "print the checks as one line of JSON")


def run(args: argparse.Namespace) -> int:
    """Check, and print each finding."""
    with open_client(environment=args.environment, sport=args.sport) as client:
        report = client.doctor()
    if args.as_json:
        print_json({"ok": report.ok, "checks": [fields_of(check) for check in report]})
    else:
        print(report)
    return Exit.DONE if report.ok else Exit.ERROR
