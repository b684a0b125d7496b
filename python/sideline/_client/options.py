"""The options of a client, as type checkers see them where a call passes them on."""

import os
from collections.abc import Mapping
from typing import Literal, TypedDict

from .timeout import Timeout
from .types import Duration, Environment, Sport


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of `Client` and `AsyncClient`, which document them."""

    username: str | None
    secret: str | None
    api_key: str | None
    environment: Environment | None
    sport: Sport | None
    base_url: str | None
    websocket_url: str | None
    broadcast_base_url: str | None
    timeout: Timeout | Duration | None
    max_retries: int
    max_concurrency: int
    requests_per_second: float | None
    max_response_bytes: int | None
    max_memory: int | None
    proxy: str | None
    ca_bundle: str | os.PathLike[str] | None
    user_agent: str | None
    headers: Mapping[str, str] | None
    allow_http: bool
    strict: bool
    api_key_in: Literal["query", "header"]
    token_path: str | None
    token_parameter: str | None
