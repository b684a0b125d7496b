"""Errors about arguments of the wrong type that name the argument."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def named(**written: str) -> Iterator[None]:
    """Name the argument of the wrong type in the message, with what to write: the core names it only in a note."""
    try:
        yield
    except TypeError as error:
        for note in getattr(error, "__notes__", ()):
            match = re.fullmatch(r"while processing '(\w+)'", note)
            if match and match[1] in written:
                raise TypeError(f"{match[1]} is {written[match[1]]}; {error}") from None
        raise
