from ._rows import payload_html, schema_html, table_html, table_text  # noqa: F401  the built extension imports it by this name
