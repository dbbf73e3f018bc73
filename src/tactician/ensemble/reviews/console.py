"""Reviewer at the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tactician.ensemble.reviews.decision import ReviewDecision, get_decision_schema
from tactician.ensemble.reviews.terminal import ReadLine, Terminal, begin_rest, open_terminal
from tactician.ensemble.values.phase_decisions import FORMS, PhaseDecision
from tactician.runs import PendingRequest, approve, reject
from tactician.runs.outcomes.suspension import Response
from tactician.suggestions import suggest_options
from tactician.text import escape_controls

_CHOICES: Final = {
    "a": "approve",
    "approve": "approve",
    "e": "edit",
    "edit": "edit",
    "r": "retry",
    "retry": "retry",
    "x": "exit_early",
    "exit": "exit_early",
}


@suggest_options
class ConsoleReviewer:
    """Reviewer that asks at the terminal. At the end of the input it does not decide, and the run waits.

    Other tasks go on meanwhile. Questions are asked in turn, for all reviewers at the terminal. A question
    whose timeout has passed takes no line that is typed later.

    Args:
        role: its role, for gates that require a role.
        name: its name, which the run keeps with its answers.
        read: function, sync or async, that reads a line after a prompt; from the standard input by default. When it is
            sync, it is called outside of the event loop, and cannot be stopped.
        write: function that writes a line; `print` by default.
    """

    def __init__(
        self,
        role: str | None = None,
        name: str | None = None,
        *,
        read: ReadLine | None = None,
        write: Callable[[str], object] = print,
    ) -> None:
        self.role = role
        self.name = name
        self._terminal = open_terminal() if read is None else Terminal(read)
        self._read = self._terminal.read
        self._write = write

    async def __call__(self, request: PendingRequest) -> Response | None:
        """Ask, and return the answer; `None` at the end of the input."""
        try:
            async with self._terminal.turn:
                with begin_rest():
                    return await self._ask(request)
        except EOFError:
            return None

    async def _ask(self, request: PendingRequest) -> Response:
        self._write(escape_controls(request.prompt))  # or what is to be judged could hide itself
        if request.problem is not None:
            self._write(escape_controls(f"That is not possible: {request.problem}"))
        if request.schema == get_decision_schema():
            return await self._ask_decision()
        if (request.schema or {}).get("title") == PhaseDecision.__name__:
            self._write(f"answer with {FORMS}")
        if request.kind == "approval":
            return approve() if await self._ask_yes_or_no() else reject(await self._read("why not: "))
        return await self._ask_yes_or_no() if request.kind == "confirmation" else await self._read("> ")

    async def _ask_decision(self) -> ReviewDecision:
        question = "[a]pprove, [e]dit, [r]etry, e[x]it: "
        while (choice := _CHOICES.get((await self._read(question)).strip().lower())) is None:
            self._write("answer a, e, r or x")
        match choice:
            case "edit":
                return ReviewDecision.edit(await self._read_lines())
            case "retry":
                return ReviewDecision.retry(await self._read("what to change: "))
            case "approve":
                return ReviewDecision.approve()
            case _:
                return ReviewDecision.exit_early()

    async def _read_lines(self) -> str:
        self._write("the new output; a line with a single dot ends it")
        lines: list[str] = []
        while (line := await self._read("")) != ".":
            lines.append(line)
        return "\n".join(lines)

    async def _ask_yes_or_no(self) -> bool:
        while (word := (await self._read("(y/n) ")).strip().lower()) not in ("y", "yes", "n", "no"):
            self._write("answer y or n")
        return word.startswith("y")
