"""HTTP API of a platform: REST and server-sent events, with an OpenAPI document."""

from tactician.serve.api.application import app
from tactician.serve.api.guard import RequestLimits
from tactician.serve.api.people import Person, Right
from tactician.serve.api.people_file import load_people

__all__ = ["app", "load_people", "RequestLimits", "Person", "Right"]
