"""Bounds the freed memory that allocators keep, which otherwise grows with the length of a sync."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._lazy import library
from ._libraries import pa

_VARIABLES = {
    "deltalake": ("_RJEM_MALLOC_CONF", "narenas:1,dirty_decay_ms:300,muzzy_decay_ms:0,oversize_threshold:0"),
    "pyarrow": ("ARROW_DEFAULT_MEMORY_POOL", "system"),
}
"""What the allocators of libraries read when they are loaded. deltalake's is a jemalloc of its own, which takes more
CPU without a delay. pyarrow's own pool keeps freed memory that `trim` returns if glibc has it."""


def load_deltalake() -> Any:
    """Import deltalake and pyarrow so that they keep no freed memory, unless the environment has their settings."""
    _load("pyarrow")
    return _load("deltalake")


def _load(name: str) -> Any:
    variable, setting = _VARIABLES[name]
    is_set = sys.platform != "linux" or name in sys.modules or variable in os.environ
    if not is_set:
        os.environ[variable] = setting
    try:
        return library(name, "archive")
    finally:
        if not is_set:
            del os.environ[variable]


_MMAP_THRESHOLD, _LARGE, _LARGEST = -3, 1024 * 1024, 32 * 1024 * 1024
"""glibc's `M_MMAP_THRESHOLD`; the size from which blocks are returned when they are freed; glibc's default maximum."""


@contextmanager
def returned_blocks() -> Iterator[None]:
    """Let glibc return each large block, such as a body of locations, to the system when it is freed."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        yield
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:
        # glibc raises its own threshold to this when it frees such blocks.
        mallopt(_MMAP_THRESHOLD, _LARGEST)


def trim() -> None:
    """Return freed memory that pyarrow's pool, and glibc for each thread, keep to the system."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        # musl has no such function.
        malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if malloc_trim is not None:
            malloc_trim(0)
