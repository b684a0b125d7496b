"""Spark imports each module whose name begins with `pyspark_`: its `DefaultSource` is the data source "sideline"."""

from sideline._engines import SidelineDataSource as DefaultSource

__all__ = ["DefaultSource"]
