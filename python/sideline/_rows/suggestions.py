"""Names that resemble a misspelt one."""

from collections.abc import Iterable

_MAX = 3
_MAX_NAME = 200
"""Longer names are no misspelling, and to compare them takes seconds."""
_SIMILARITY = 0.6
"""Of `difflib`: twice the number of equal letters, divided by the number of letters."""


def resembling(name: object, candidates: Iterable[str]) -> list[str]:
    """Return at most three of the names that resemble a name as a whole or by one word, the closest first.

    Nothing resembles what is no string.
    """
    if not isinstance(name, str) or len(name) > _MAX_NAME:
        return []
    from difflib import SequenceMatcher

    def similarity(candidate: str) -> float:
        texts = [candidate.casefold(), *candidate.casefold().split()]
        return max(SequenceMatcher(None, name.casefold(), text).ratio() for text in texts)

    scores = {candidate: similarity(candidate) for candidate in dict.fromkeys(candidates) if candidate}
    close = [candidate for candidate, score in scores.items() if score >= _SIMILARITY]
    return sorted(close, key=lambda candidate: -scores[candidate])[:_MAX]


def did_you_mean(name: object, candidates: Iterable[str]) -> str:
    """Return the end of an error's message; empty if none resembles it.

    >>> from sideline._rows import did_you_mean
    >>> did_you_mean("shot", ["shots", "teams"])
    '; did you mean shots?'
    """
    names = resembling(name, candidates)
    return f"; did you mean {' or '.join(names)}?" if names else ""
