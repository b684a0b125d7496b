"""Unknown fields, which no schema has: each is a warning once, or an error."""

import sys

from sideline._core import Payload


def check_drift(payload: Payload, *, strict: bool) -> None:
    """Warn of each path that the client meets for the first time; where `strict`, refuse the answer."""
    from sideline._access import refusal_of

    report_drift(payload, warn=not strict)
    if strict and (refusal := refusal_of(payload)):
        raise refusal


def report_drift(payload: Payload, *, warn: bool) -> None:
    """Log each path that is met for the first time, and warn at the line outside this package that asked."""
    # Not at the top: hardly an answer needs them.
    import logging
    import warnings

    from sideline._access import drift_of
    from sideline.errors import SchemaDriftWarning

    for path, kind, _, is_new in drift_of(payload):
        if is_new:
            field, _, problem = path.partition(" (")
            if problem.startswith("not a whole"):
                what = f"a number that is not whole where a table has integers: {field}"
            else:
                what = f"an unknown field: {path} ({kind})" if kind else f"an answer without {field}"
            text = (
                f"{payload.operation}: the service sent {what}; to_dict() has it all, client.drift() lists what was met"
            )
            logging.getLogger("sideline").warning("%s", text)
            if warn:
                warnings.warn(text, SchemaDriftWarning, stacklevel=_stack_level())


def _stack_level() -> int:
    """How many frames above the caller the first one is that is not of this package."""
    level, frame = 1, sys._getframe(1)  # noqa: SLF001
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sideline":
        level, frame = level + 1, frame.f_back
    return level
