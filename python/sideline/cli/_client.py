"""The client of the environment's settings."""

from typing import Unpack

from .._client import Client, ClientOptions
from ..errors import ConfigurationError


def open_client(**options: Unpack[ClientOptions]) -> Client:
    """Return the client. Raises `ConfigurationError`: an invalid variable is no wrong argument of a command."""
    try:
        return Client(**options)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
