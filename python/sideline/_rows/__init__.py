"""Tables and payloads as text, HTML and frames of other libraries; schemas, names beside ids, schema drift."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .drift import check_drift as check_drift, report_drift as report_drift, stack_level as stack_level
    from .files import replaced_file as replaced_file, replaced_path as replaced_path
    from .frames import (
        arrow_rows as arrow_rows,
        has_tables as has_tables,
        mixed_column as mixed_column,
        polars_frame as polars_frame,
        schema_to_arrow as schema_to_arrow,
        tables_of as tables_of,
        terms as terms,
        to_arrow as to_arrow,
        to_csv as to_csv,
        to_pandas as to_pandas,
        to_parquet as to_parquet,
        to_polars as to_polars,
        with_plain_types as with_plain_types,
    )
    from .names import Found as Found, with_names as with_names
    from .notebook import (
        Part as Part,
        facts_html as facts_html,
        facts_part as facts_part,
        html as html,
        notebook_html as notebook_html,
        payload_html as payload_html,
        rows_part as rows_part,
        schema_html as schema_html,
        table_html as table_html,
        table_part as table_part,
    )
    from .schemas import SCHEMAS as SCHEMAS
    from .suggestions import did_you_mean as did_you_mean, resembling as resembling
    from .text import (
        align as align,
        cell as cell,
        count_text as count_text,
        is_number as is_number,
        shorten as shorten,
        table_text as table_text,
        visible as visible,
    )
    from .zones import in_zone as in_zone, to_zone as to_zone, zone as zone
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "drift": "check_drift report_drift stack_level",
            "files": "replaced_file replaced_path",
            "frames": (
                "arrow_rows has_tables mixed_column polars_frame schema_to_arrow tables_of terms to_arrow to_csv "
                "to_pandas to_parquet to_polars with_plain_types"
            ),
            "names": "Found with_names",
            "notebook": (
                "Part facts_html facts_part html notebook_html payload_html rows_part schema_html table_html table_part"
            ),
            "schemas": "SCHEMAS",
            "suggestions": "did_you_mean resembling",
            "text": "align cell count_text is_number shorten table_text visible",
            "zones": "in_zone to_zone zone",
        },
    )
