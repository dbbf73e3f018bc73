"""Reviewer at the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tactician.ensemble.reviews.decision import ReviewDecision, get_decision_schema
from tactician.runs import PendingRequest, Response, approve, in_thread, reject

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


class ConsoleReviewer:
    """Reviewer that asks at the terminal. At the end of the input it does not decide, and the run waits.

    It reads in a thread, so that other tasks go on. Questions are asked in turn.

    Args:
        role: its role, for gates that require a role.
        name: its name, which decisions keep.
        read: function that reads a line after a prompt; `input` by default.
        write: function that writes a line; `print` by default.
    """

    def __init__(
        self,
        role: str | None = None,
        name: str | None = None,
        *,
        read: Callable[[str], str] = input,
        write: Callable[[str], object] = print,
    ) -> None:
        self.role = role
        self.name = name
        self._read = read
        self._write = write

    async def __call__(self, request: PendingRequest) -> Response | None:
        """Ask, and return the answer; `None` at the end of the input."""
        try:
            return await in_thread(lambda: self._ask(request))
        except EOFError:
            return None

    def _ask(self, request: PendingRequest) -> Response:
        self._write(request.prompt)
        if request.problem is not None:
            self._write(f"That is not possible: {request.problem}")
        if request.schema == get_decision_schema():
            return self._ask_decision()
        if request.kind == "approval":
            return approve() if self._ask_yes_or_no() else reject(self._read("why not: "))
        return self._ask_yes_or_no() if request.kind == "confirmation" else self._read("> ")

    def _ask_decision(self) -> ReviewDecision:
        while (choice := _CHOICES.get(self._read("[a]pprove, [e]dit, [r]etry, e[x]it: ").strip().lower())) is None:
            self._write("answer a, e, r or x")
        match choice:
            case "edit":
                return ReviewDecision("edit", text=self._read_lines(), by=self.name)
            case "retry":
                return ReviewDecision("retry", feedback=self._read("what has to change: "), by=self.name)
            case "approve":
                return ReviewDecision("approve", by=self.name)
            case _:
                return ReviewDecision("exit_early", by=self.name)

    def _read_lines(self) -> str:
        self._write("the new output; a line with a single dot ends it")
        lines: list[str] = []
        while (line := self._read("")) != ".":
            lines.append(line)
        return "\n".join(lines)

    def _ask_yes_or_no(self) -> bool:
        while (word := self._read("(y/n) ").strip().lower()) not in ("y", "yes", "n", "no"):
            self._write("answer y or n")
        return word.startswith("y")
