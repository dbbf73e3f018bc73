"""HTTP API of a platform: REST and server-sent events, with an OpenAPI document."""

from tactician.serve.api.application import create_app
from tactician.serve.api.guard import Limits
from tactician.serve.api.people import Person, Right

__all__ = ["create_app", "Limits", "Person", "Right"]
