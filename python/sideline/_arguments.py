"""Arguments of the wrong type, told by their names."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def named(**written: str) -> Iterator[None]:
    """Say which argument is of the wrong type, and what to write: the core tells its name in a note alone."""
    try:
        yield
    except TypeError as error:
        for note in getattr(error, "__notes__", ()):
            told = re.fullmatch(r"while processing '(\w+)'", note)
            if told and told[1] in written:
                raise TypeError(f"{told[1]} is {written[told[1]]}; {error}") from None
        raise
