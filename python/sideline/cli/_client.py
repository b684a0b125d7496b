"""The client of the environment's settings."""

from typing import TYPE_CHECKING, Unpack

from ..errors import ConfigurationError

if TYPE_CHECKING:
    from .._client import Client, ClientOptions


def open_client(**options: "Unpack[ClientOptions]") -> "Client":
    """Return the client. Raises `ConfigurationError`: an invalid variable is no wrong argument of a command."""
    from .._client import Client

    try:
        return Client(**options)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
