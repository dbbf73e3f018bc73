"""Operations of the server: each says its path, who may call it, and the forms of its body and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeAlias, TypeVar

from pydantic import JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tactician.errors import TacticianError
from tactician.frozen import frozen
from tactician.loggers import get_logger
from tactician.people.person import Person, Right
from tactician.serve.api.forms.forms import Form
from tactician.serve.api.forms.viewer import Viewer
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.problems import ApiError, describe_problem

F = TypeVar("F", bound=Form)
_logger = get_logger(__name__)
_LONGEST_ID: Final = 200


@frozen
class Call:
    """Call of an operation.

    Attributes:
        server: the server.
        person: the caller.
        request: the request.
    """

    server: ApiServer
    person: Person
    request: Request

    @property
    def viewer(self) -> Viewer:
        """The person as somebody who looks at runs."""
        return Viewer(self.person, self.server.masking, base=self.base)

    @property
    def base(self) -> str:
        """Path at which the server is mounted in another application; empty where it is in none."""
        root: str = self.request.scope.get("root_path", "")
        return root

    def find_id(self, name: str) -> str:
        """Return a part of the path.

        Raises:
            ApiError: when it is too long for an id.
        """
        value: str = self.request.path_params[name]
        if len(value) > _LONGEST_ID:
            raise ApiError(404, f"There is no {name.removesuffix('_id')} with such a long id.")
        return value

    def find_number(self, name: str, default: int, most: int) -> int:
        """Return a number of the query.

        Raises:
            ApiError: when it is no number from 0 to `most`.
        """
        text = self.request.query_params.get(name, str(default))
        if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) > most:
            raise ApiError(422, f"{name} must be a number from 0 to {most}.")
        return int(text)

    async def read(self, form: type[F]) -> F:
        """Return the body.

        Raises:
            ApiError: when it does not have the form.
        """
        if not (body := await self.request.body()):
            raise ApiError(422, "body: It is missing.")
        try:
            return form.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "body"
            raise ApiError(422, f"{place}: {first['msg']}") from error


Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Handler: TypeAlias = Callable[[Call], Awaitable[Form | Response]]


def count_up_to(most: int) -> JsonValue:
    """Return the JSON schema of a number from 0 to a largest number."""
    return {"type": "integer", "minimum": 0, "maximum": most}


def group_routes(server: ApiServer, operations: Iterable[ApiOperation]) -> list[Route]:
    """Return a route for each path, with all methods that operations have there."""
    paths: dict[str, list[ApiOperation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, []).append(operation)
    return [_create_route(server, grouped) for grouped in paths.values()]


def _create_route(server: ApiServer, operations: Sequence[ApiOperation]) -> Route:
    endpoints = {operation.method: operation.create_endpoint(server) for operation in operations}

    async def serve(request: Request) -> Response:
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return Route(operations[0].path, serve, methods=list(endpoints), name=operations[0].name)


@frozen
class ApiOperation:
    """Operation of the server.

    Attributes:
        method: method of HTTP.
        path: path with names in braces.
        handler: what is called.
        summary: purpose, in a sentence.
        answer: form of the answer; `None` for a stream of events, or for text.
        right: right that callers need, or several of which they need any; `None` when everybody may call.
        body: form of the body, if any.
        query: parameters of the query, with their purposes.
        query_types: JSON schemas of those that are no text.
        status: status of the response.
        media_type: type of the response where there is no form.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answer: type[Form] | None = None
    right: Right | tuple[Right, ...] | None = "see"
    body: type[Form] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    query_types: Mapping[str, JsonValue] = field(default_factory=dict)
    status: int = 200
    media_type: str = "text/event-stream"

    @property
    def name(self) -> str:
        """Name of the operation, which is its handler's name."""
        return getattr(self.handler, "__name__", self.path)

    def route(self, server: ApiServer) -> Route:
        """Return the route of the operation."""
        return Route(self.path, self.create_endpoint(server), methods=[self.method], name=self.name)

    def create_endpoint(self, server: ApiServer) -> Endpoint:
        """Return the function that answers requests for the operation."""

        async def serve(request: Request) -> Response:
            try:
                return self._respond(await self._handle(server, request))
            except TacticianError as error:
                return describe_problem(error)
            except Exception as error:
                _logger.exception("%s %s failed", self.method, self.path)
                return describe_problem(error)

        return serve

    async def _handle(self, server: ApiServer, request: Request) -> Form | Response:
        person: Person | None = request.scope.get("person")
        if self.right is None:
            return await self.handler(Call(server, person or Person("anybody", rights=frozenset()), request))
        rights = (self.right,) if isinstance(self.right, str) else self.right
        if person is None or not person.rights.intersection(rights):
            raise ApiError(403, f"This needs the right {' or '.join(map(repr, rights))}.")
        return await self.handler(Call(server, person, request))

    def _respond(self, outcome: Form | Response) -> Response:
        if isinstance(outcome, Response):
            return outcome
        return JSONResponse(outcome.model_dump(mode="json"), self.status)
