"""Tells the lists of another service or account from those of the one that an archive is of."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigurationError
from ._plan import has_rows, is_list
from ._withdrawals import Lists

Row = Mapping[str, Any]


def unlisted_teams(rows: Iterable[Row], team_ids: Collection[int]) -> list[Row]:
    """Return the rows of the stored teams if a list of teams has entries, but none of these."""
    teams = [row for row in rows if row["operation"] == "teams" and _is_stored(row)]
    return [] if not team_ids or any(row["team_id"] in team_ids for row in teams) else teams


def entries_within(rows: Iterable[Row], lists: Lists) -> list[Row]:
    """Return the rows of the stored events and games of the teams of the lists, in their range."""
    return [
        row
        for row in rows
        if row["session_id"] is None
        and _is_stored(row)
        and lists.covers(row)
        and any(team in lists.teams for team in row["teams"] or ())
    ]


def check_host(unlisted_rows: Sequence[Row], url: str | None) -> None:
    """Raise `ConfigurationError` if these stored entries, of which the lists have none, are of another host."""
    hosts = {urlsplit(row["url"]).hostname for row in unlisted_rows if row["url"]}
    host = urlsplit(url or "").hostname
    if host is not None and hosts and host not in hosts:
        raise ConfigurationError(
            f"the archive is of another service: it was synced from {' and '.join(sorted(map(str, hosts)))}, "
            f"and {host} lists none of its {len(unlisted_rows)} stored entries, such as {unlisted_rows[0]['unit']}. "
            "Check SIDELINE_ENVIRONMENT, SIDELINE_BASE_URL and the client's options, or name another folder for this "
            "service"
        )


def _is_stored(row: Row) -> bool:
    return has_rows(row) and row["status"] != "withdrawn" and not is_list(row["unit"])
