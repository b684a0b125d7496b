"""Tables and payloads as text, HTML and frames of other libraries; schemas, names beside ids, schema drift."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .drift import check_drift, report_drift
    from .frames import library, schema_to_arrow, tables_of, to_arrow, to_csv, to_pandas, to_parquet, to_polars
    from .names import Found, with_names
    from .schemas import SCHEMAS
    from .text import (
        LEFT_STYLE,
        STATISTICS,
        aligned,
        cell,
        facts_html,
        payload_html,
        schema_html,
        shorten,
        table_html,
        table_text,
        visible,
    )
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "drift": "check_drift report_drift",
            "frames": "library schema_to_arrow tables_of to_arrow to_csv to_pandas to_parquet to_polars",
            "names": "Found with_names",
            "schemas": "SCHEMAS",
            "text": (
                "LEFT_STYLE STATISTICS aligned cell facts_html payload_html schema_html shorten table_html "
                "table_text visible"
            ),
        },
    )
