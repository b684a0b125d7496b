"""Rows of an archive with pseudonyms."""

import json

from .._companions import Pseudonyms
from ._libraries import pa, pl


def replace_rows(rows: "pa.Table", pseudonyms: Pseudonyms) -> "pa.Table":
    """Return the rows of a table with pseudonyms; the types stay."""
    fields = rows["field"].to_pylist() if {"field", "old", "new"} <= set(rows.column_names) else None
    for place, field in enumerate(rows.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if not (pa.types.is_integer(kind) or is_text(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            continue
        values = rows[field.name].to_pylist()
        if fields is None or field.name not in ("key", "old", "new"):
            replacements = pseudonyms.column(field.name, values)
        else:
            replacements = [_corrected(pseudonyms, *pair) for pair in zip(fields, values, strict=True)]
        column = pa.array(replacements, kind)
        rows = rows.set_column(
            place, field, column.dictionary_encode().cast(field.type) if kind != field.type else column
        )
    return rows


def is_text(kind: "pa.DataType") -> bool:
    """Return whether values of a type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _corrected(pseudonyms: Pseudonyms, field: str, value: str | None) -> str | None:
    """Return a value of a correction, which is JSON: a text has the pseudonym that it has in its own column."""
    if value is None:
        return None
    if value.startswith('"'):
        return json.dumps(pseudonyms.column(field, [json.loads(value)])[0], ensure_ascii=False)
    if value.startswith(("{", "[")):
        return pseudonyms.body(value.encode(), field).decode()
    return pseudonyms.value_as_text(field, value)


def replace_frame(frame: "pl.LazyFrame", pseudonyms: Pseudonyms) -> "pl.LazyFrame":
    """Return a frame with pseudonyms, replaced a batch at a time."""

    def replace_batch(batch: "pl.DataFrame") -> "pl.DataFrame":
        columns = pl.DataFrame(replace_rows(batch.to_arrow(), pseudonyms)).get_columns()
        # By their order: polars takes a name such as `*`, which a stat code may be, for a pattern.
        return pl.DataFrame([column.cast(kind) for column, kind in zip(columns, batch.dtypes, strict=True)])

    return frame.map_batches(replace_batch, streamable=True)
