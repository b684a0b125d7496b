"""Every table's schema, known without a request."""

from collections.abc import Mapping
from types import MappingProxyType

from sideline._core import Schema, _schemas

SCHEMAS: Mapping[str, Schema] = MappingProxyType(_schemas())
