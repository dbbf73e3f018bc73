"""Routes of the dashboard's files, which tell browsers to load and to run nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

DASHBOARD_PATH: Final = "/ui"
_FILES: Final = Path(__file__).parent / "static"
# Pictures of runs are loaded with the token of the person: the page has them as blobs.
_POLICY: Final = (
    "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode("ascii")),
    (b"cross-origin-opener-policy", b"same-origin"),
    # The names of the files are the same in each version: browsers ask each time if they have changed.
    (b"cache-control", b"no-cache"),
)


def dashboard_routes() -> tuple[BaseRoute, ...]:
    """Return the routes of the dashboard."""
    return (
        Route(DASHBOARD_PATH, _redirect, name="redirect_to_dashboard"),
        Mount(DASHBOARD_PATH, _StrictFiles(), name="dashboard"),
    )


def home_route() -> BaseRoute:
    """Return the route that sends browsers from the root of the server to the dashboard."""
    return Route("/", _redirect, name="home")


class _StrictFiles:
    """Files with a content security policy."""

    def __init__(self) -> None:
        self._files = StaticFiles(directory=_FILES, html=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file."""

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        await self._files(scope, receive, send_strictly)


async def _redirect(request: Request) -> Response:
    """Send browsers to the dashboard; its address ends in a slash, on which the addresses of the files depend."""
    root = request.scope.get("root_path", "")
    return RedirectResponse(f"{root}{DASHBOARD_PATH}/")
