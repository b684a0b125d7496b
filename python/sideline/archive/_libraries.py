"""The libraries of an archive, each of which is imported when a name of it is first used."""

from typing import TYPE_CHECKING, Any

from .._lazy import LazyModule

__all__ = ["deltalake", "obstore", "pa", "parquet", "pc", "pl", "transaction"]

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
else:
    pa = LazyModule("pyarrow", "archive")
    pl = LazyModule("polars", "archive")

deltalake: Any = LazyModule("deltalake", "archive")
obstore: Any = LazyModule("obstore", "bucket")
parquet: Any = LazyModule("pyarrow.parquet", "archive")
pc: Any = LazyModule("pyarrow.compute", "archive")
transaction: Any = LazyModule("deltalake.transaction", "archive")
