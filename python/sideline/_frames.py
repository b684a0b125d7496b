from ._rows import schema_to_arrow, to_arrow, to_csv, to_pandas, to_parquet, to_polars  # noqa: F401  the built extension imports it by this name
