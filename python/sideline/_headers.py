from ._client import Headers  # noqa: F401  the built extension imports it by this name
