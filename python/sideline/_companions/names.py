"""Finds the team or player that an assistant means by a name or an id."""

from collections.abc import Iterable, Mapping

from .._client import check_name, is_named
from .._rows import did_you_mean

Named = Mapping[int, Iterable[str]]
"""The names of each team or player by id; a renamed team has several."""


def find_id(kind: str, name_or_id: int | str, names: Named, teams: Mapping[int, str] | None = None) -> int:
    """Return the id. An ambiguous name raises `ValueError`, which lists every match with its id and team."""
    if isinstance(name_or_id, int) or name_or_id.isdecimal():
        number = int(name_or_id)
        if number not in names:
            raise ValueError(f"the archive has no {kind} with the id {number}")
        return number
    check_name(name_or_id)
    matches = [number for number, texts in names.items() if any(is_named(name_or_id, text) for text in texts)]
    equal = [number for number in matches if any(_is_whole(name_or_id, text) for text in names[number])]
    if len(equal) == 1:
        return equal[0]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        hint = did_you_mean(name_or_id, (text for texts in names.values() for text in texts))
        raise ValueError(f"the archive has no {kind} named {name_or_id!r}{hint}")
    texts = [
        f"{' or '.join(names[number])}{f', {teams[number]}' if teams and number in teams else ''} (id {number})"
        for number in matches
    ]
    raise ValueError(f"{name_or_id!r} is the name of {len(matches)} {kind}s: {'; '.join(texts)}. Give the id")


def _is_whole(other_name: str, name: str) -> bool:
    """Return whether the words of two names are the same."""
    return is_named(other_name, name) and is_named(name, other_name)
