"""Questions to a person in the terminal."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pydantic_core import from_json
from rich.console import Console

from tactician.cli.answers import NO, YES, parse_answer_text
from tactician.cli.field_checks import check_value
from tactician.cli.fields import Field, list_fields
from tactician.cli.formatting import format_time
from tactician.runs import PendingRequest, approve, reject
from tactician.runs.outcomes.suspension import Response
from tactician.secrets import mask_secrets

_NOTHING = object()


class Asker:
    """Questioner that asks for each field of a form until it gets a valid answer.

    Args:
        console: the console for the questions.
        read: function that reads a line after a prompt; from the terminal by default.
    """

    def __init__(self, console: Console, read: Callable[[str], str] | None = None) -> None:
        self._console = console
        self._read = read or (lambda prompt: console.input(prompt, markup=False))

    def answer(self, request: PendingRequest) -> Response:
        """Return the person's answer.

        Raises:
            EOFError: when they end the input (Ctrl-D).
            KeyboardInterrupt: when they interrupt it (Ctrl-C).
        """
        self._say(request.prompt, "bold")
        if request.deadline is not None:
            self._say(f"until {format_time(request.deadline)}; without an answer: {request.default}", "dim")
        with _allow_interrupts():
            match request.kind:
                case "approval":
                    return approve() if self._ask_yes_or_no("y/n") else reject(self._read("why not: "))
                case "confirmation":
                    return self._ask_yes_or_no("y/n")
                case "form" if fields := list_fields(request.schema or {}):
                    return self._ask_group(fields)
                case _:
                    return parse_answer_text(self._read("> "), request)

    def complain(self, problem: str) -> None:
        """Print the reason why an answer is not accepted."""
        self._say(problem, "yellow")

    def _ask_group(self, fields: Sequence[Field], group_label: str = "") -> dict[str, object]:
        """Return the answers to all fields; empty ones are left out, so that they get their defaults."""
        answers = {field.name: self._ask_field(field, f"{group_label}{format_label(field)}") for field in fields}
        return {name: value for name, value in answers.items() if value is not _NOTHING}

    def _ask_field(self, field: Field, label: str) -> object:
        if field.help:
            self._say(field.help, "dim")
        match field.widget:
            case "group" if field.may_be_left_out and not self._ask_yes_or_no(f"{label}, y/n"):
                return _create_empty_value(field)
            case "group":
                return self._ask_group(field.fields, f"{field.label} / ")
            case "list" if field.item is not None:
                return self._ask_list(field.item, label) or (_NOTHING if field.is_optional else [])
            case "textarea":
                return self._ask_text(field, label)
            case _:
                return self._ask_line(field, label)

    def _ask_line(self, field: Field, label: str) -> object:
        for number, choice in enumerate(field.choices, start=1):
            self._say(f"  {number}. {choice}")
        return self._ask_until_valid(field, lambda: self._read(f"{label}{_describe_format(field)}: ").strip())

    def _ask_text(self, field: Field, label: str) -> object:
        return self._ask_until_valid(field, lambda: self._read_lines(label))

    def _ask_until_valid(self, field: Field, read: Callable[[], str]) -> object:
        """Return the value of the first valid text; nothing for an empty text, where the field may be left out."""
        while True:
            text = read()
            if not text and (field.may_be_left_out or not field.schema):
                return _create_empty_value(field)
            try:
                return parse_answer(text, field)
            except ValueError as error:
                self.complain(str(error))

    def _ask_list(self, item: Field, label: str) -> list[object]:
        self._say(f"{label}, each on its own line; an empty line ends them", "dim")
        values: list[object] = []
        while text := self._read(f"{label} {len(values) + 1}{_describe_format(item)}: ").strip():
            try:
                values.append(parse_answer(text, item))
            except ValueError as error:
                self.complain(str(error))
        return values

    def _read_lines(self, label: str) -> str:
        self._say(f"{label}; an empty line ends it", "dim")
        lines: list[str] = []
        while line := self._read("> "):
            lines.append(line)
        return "\n".join(lines)

    def _ask_yes_or_no(self, expected: str) -> bool:
        while True:
            word = self._read(f"({expected}) ").strip().lower()
            if word in YES | NO:
                return word in YES
            self.complain("answer y or n")

    def _say(self, text: str, style: str = "") -> None:
        # A terminal breaks long lines inside words; elsewhere nothing is broken.
        is_wide = not self._console.is_terminal
        self._console.print(mask_secrets(text), style=style, markup=False, highlight=False, soft_wrap=is_wide)


def parse_answer(text: str, field: Field) -> object:
    """Return the value of a text for a field.

    Raises:
        ValueError: when it is none; the message says what is expected.
    """
    if not text and field.schema:
        raise ValueError(f"{field.label} cannot be left out")
    value = _read_value(text, field)
    check_value(value, field.schema)
    return value


def format_label(field: Field) -> str:
    """Return the label of a field, which says when the field may be left out."""
    return f"{field.label} (optional)" if field.may_be_left_out else field.label


def _read_value(text: str, field: Field) -> object:
    match field.widget:
        case "number":
            try:
                return int(text) if field.is_whole else float(text)
            except ValueError:
                raise ValueError(f"{text!r} is not a {'whole ' if field.is_whole else ''}number") from None
        case "checkbox":
            if text.lower() in YES | NO:
                return text.lower() in YES
            raise ValueError("answer y or n")
        case "select":
            return _parse_choice(text, field.choices)
        case "json" | "group" | "list":
            return _parse_json_or_text(text, field)
        case _:
            return text


def _parse_choice(text: str, choices: Sequence[object]) -> object:
    for number, choice in enumerate(choices, start=1):
        if text in (str(choice), str(number)):
            return choice
    raise ValueError(f"choose from {', '.join(map(str, choices))}, or its number")


def _parse_json_or_text(text: str, field: Field) -> object:
    try:
        return from_json(text)
    except ValueError:
        if field.widget == "json":
            return text
        raise ValueError(
            f"{field.label} must be JSON, such as {'[...]' if field.widget == 'list' else '{...}'}"
        ) from None


def _create_empty_value(field: Field) -> object:
    return None if field.may_be_null and not field.is_optional else _NOTHING


def _describe_format(field: Field) -> str:
    hints = {"checkbox": " (y/n)", "json": " (JSON)", "group": " (JSON)", "list": " (JSON)"}
    return hints.get(field.widget, f" ({field.widget})" if field.widget in ("date", "datetime", "time") else "")


@contextmanager
def _allow_interrupts() -> Iterator[None]:
    """Let Ctrl-C interrupt the wait for a line, which an event loop's handler would not do."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
