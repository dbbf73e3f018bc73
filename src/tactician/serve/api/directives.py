"""Directives for the nodes of a mesh over HTTP, by people with the right `direct`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from tactician.mesh import Mesh
from tactician.mesh.messages.message import MAX_TEXT
from tactician.people.person import Right
from tactician.prompts.contributors import Directive
from tactician.serve.api.forms.forms import Form
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.serve.problems import ApiError

_READERS: Final[tuple[Right, ...]] = ("see", "direct")


class GuidanceForm(Form):
    """Guidance to give.

    Attributes:
        target: name of a node, or `capability:`, `tag:` or `realm:` with a name.
        text: the guidance, which agents read.
        seconds: time for which it holds; until it is withdrawn, by default.
    """

    target: Annotated[str, Field(max_length=200, pattern=r"^((capability|tag|realm):)?[^:]+$")]
    text: Annotated[str, Field(max_length=MAX_TEXT, pattern=r"\S")]
    seconds: Annotated[float, Field(gt=0, le=31_536_000)] | None = None


class DirectiveForm(Form):
    """Directive that holds.

    Attributes:
        id: id of the directive.
        target: what it is for.
        text: the guidance.
        by: the person or rule that directs.
        created_at: time of the directive, in seconds since the epoch.
        expires_at: time from which it no longer holds, if any.
    """

    id: str
    target: str
    text: str
    by: str
    created_at: float
    expires_at: float | None


class DirectiveListForm(Form):
    """Directives that hold, oldest first."""

    directives: tuple[DirectiveForm, ...]


class WithdrawalForm(Form):
    """Directive that no longer holds."""

    id: str


def create_directive_operations(mesh: Mesh) -> tuple[ApiOperation, ...]:
    """Return the operations of directives for the nodes of a mesh."""

    async def direct(call: Call) -> DirectiveForm:
        """Give guidance to all work of a target that starts from now on, in the name of the person who calls."""
        form = await call.read(GuidanceForm)
        ttl = None if form.seconds is None else timedelta(seconds=form.seconds)
        return _show(call, await mesh.direct(form.target, form.text, by=call.person.name, ttl=ttl))

    async def list_directives(call: Call) -> DirectiveListForm:
        """Return the directives that hold."""
        return DirectiveListForm(directives=tuple(_show(call, each) for each in await mesh.directives()))

    async def withdraw(call: Call) -> WithdrawalForm:
        """Withdraw a directive."""
        if not await mesh.withdraw(directive_id := call.find_id("directive_id")):
            raise ApiError(404, f"No directive {directive_id!r} holds.")
        return WithdrawalForm(id=directive_id)

    path = "/api/directives"
    return (
        ApiOperation("POST", path, direct, "Give guidance", DirectiveForm, "direct", GuidanceForm, status=201),
        ApiOperation("GET", path, list_directives, "List the directives that hold", DirectiveListForm, _READERS),
        ApiOperation("DELETE", f"{path}/{{directive_id}}", withdraw, "Withdraw a directive", WithdrawalForm, "direct"),
    )


def _show(call: Call, directive: Directive) -> DirectiveForm:
    return DirectiveForm(
        id=directive.id,
        target=directive.target,
        text=call.server.masking.mask(directive.text),
        by=directive.sender,
        created_at=directive.created_at,
        expires_at=directive.expires_at,
    )
