"""Bounds the freed memory that allocators keep, which otherwise grows with the length of a sync."""

import ctypes
import os
import sys
from typing import Any

from .._rows import library

_VARIABLE, _SETTINGS = "_RJEM_MALLOC_CONF", "narenas:1,dirty_decay_ms:300,muzzy_decay_ms:0,oversize_threshold:0"
"""What deltalake's allocator, a jemalloc of its own, reads when it is loaded. Without a delay it takes more CPU."""


def load_deltalake() -> Any:
    """Import deltalake so that its allocator keeps no freed memory, unless the environment has its settings."""
    is_set = sys.platform != "linux" or "deltalake" in sys.modules or _VARIABLE in os.environ
    if not is_set:
        os.environ[_VARIABLE] = _SETTINGS
    try:
        return library("deltalake", "archive")
    finally:
        if not is_set:
            del os.environ[_VARIABLE]


def trim() -> None:
    """Return freed memory that pyarrow's pool, and glibc for each thread, keep to the system."""
    library("pyarrow", "archive").default_memory_pool().release_unused()
    if sys.platform == "linux":
        # musl has no such function.
        malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if malloc_trim is not None:
            malloc_trim(0)
