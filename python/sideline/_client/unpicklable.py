"""Objects that hold a connection, a server or a state of the core: a copy would share it."""

from typing import ClassVar, NoReturn


class Unpicklable:
    """A base of classes that `pickle` and `copy` refuse, saying what to do instead.

    >>> import pickle, sideline
    >>> pickle.dumps(sideline.LiveBoxScore())
    Traceback (most recent call last):
    TypeError: a LiveBoxScore cannot be pickled or copied: take its table(), or feed a new one from a journal
    """

    _instead: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied: {self._instead}")
