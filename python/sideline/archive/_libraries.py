"""The libraries of an archive, each of which is imported when a name of it is first used."""

from typing import Any

from .._lazy import LazyModule

deltalake: Any = LazyModule("deltalake", "archive")
obstore: Any = LazyModule("obstore", "bucket")
pa: Any = LazyModule("pyarrow", "archive")
parquet: Any = LazyModule("pyarrow.parquet", "archive")
pc: Any = LazyModule("pyarrow.compute", "archive")
pl: Any = LazyModule("polars", "archive")
transaction: Any = LazyModule("deltalake.transaction", "archive")
