"""Times of tables in the reader's zone."""

from typing import TYPE_CHECKING

from .suggestions import did_you_mean

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from .._core import Table


def zone(name: str, source: str) -> "tzinfo":
    """Return a time zone by its name; `source` is the argument or variable that an error names."""
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        hint = did_you_mean(str(name), available_timezones())
        text = f"{source} is {name!r}; it must be the name of a zone, such as America/New_York{hint}"
        raise ValueError(text) from None


def to_zone(at: "datetime", zone: "tzinfo") -> "datetime":
    """Return a time in a zone. One that the zone moves out of the calendar stays in its own."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def in_zone(table: "Table", name: str) -> "Table":
    """Return a table with its times in a zone; the instants stay."""
    from .._client import in_zone

    zone(name, "tz")
    return in_zone(table, name)
