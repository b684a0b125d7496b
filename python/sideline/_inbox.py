from ._client.inbox import *  # noqa: F403  the extension imports this name until it is compiled again
