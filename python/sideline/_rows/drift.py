"""Reports unknown fields: as a warning for each path, or as an error."""

import sys

from .._core import Payload


def check_drift(payload: Payload, *, strict: bool) -> None:
    """Warn of each path that the client finds for the first time; with `strict`, raise the error of the response."""
    from .._client import refusal_of

    report_drift(payload, warn=not strict)
    if strict and (refusal := refusal_of(payload)):
        raise refusal


def report_drift(payload: Payload, *, warn: bool) -> None:
    """Log each path that is found for the first time, and warn at the caller's line outside this package."""
    # Imported here, because few responses need them.
    import warnings

    from .._client import drift_of
    from .._core import _logger
    from ..errors import SchemaDriftWarning

    for path, kind, _, is_new in drift_of(payload):
        if is_new:
            field, _, problem = path.partition(" (")
            if problem.startswith("not a whole"):
                problem_text = f"a number that is not whole where a table has integers: {field}"
            elif problem in ("loses digits)", "seconds, not milliseconds)", "neither MAKE nor MISS)"):
                problem_text = f"a value that no column can hold: {path}"
            else:
                problem_text = f"an unknown field: {path} ({kind})" if kind else f"a response without {field}"
            text = f"{payload.operation}: the service sent {problem_text}; to_dict() has it, client.drift() lists all"
            _logger().warning("%s", text)
            if warn:
                warnings.warn(text, SchemaDriftWarning, stacklevel=stack_level())


def stack_level() -> int:
    """Return the stack level of the first frame outside this package."""
    level, frame = 1, sys._getframe(1)  # noqa: SLF001
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sideline":
        level, frame = level + 1, frame.f_back
    return level
