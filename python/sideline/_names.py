from ._rows import with_names  # noqa: F401  the built extension imports it by this name
