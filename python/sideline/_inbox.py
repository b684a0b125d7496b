from ._client import hear  # noqa: F401  the built extension imports it by this name
