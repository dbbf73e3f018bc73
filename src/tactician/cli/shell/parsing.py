"""Lines that people type into the shell, as the arguments of commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from tactician.cli.shell_commands import ShellCommand, ShellParameter
from tactician.errors import TacticianError
from tactician.suggestions import did_you_mean

_NUMBER: Final = re.compile(r"-\.?\d")


class ShellInputError(TacticianError):
    """Error for a line that is no command, or lacks what the command takes."""


def split_line(line: str) -> list[str]:
    """Return the words of a line, as a POSIX shell splits it.

    Raises:
        ShellInputError: when a quotation has no end.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ShellInputError(f"{str(error)[:1].lower()}{str(error)[1:]}: close it, or put \\ before it.") from None


def parse_arguments(command: ShellCommand, words: Sequence[str]) -> dict[str, object]:
    """Return the arguments of a function, from the words behind the name of its command.

    Raises:
        ShellInputError: when something is missing, too much, or no value of its type.
    """
    return _Parser(command).parse(words)


class _Parser:
    """Parser of the words of a single command."""

    def __init__(self, command: ShellCommand) -> None:
        self._command = command
        self._options = _list_options(command)
        self._arguments: dict[str, object] = {}
        self._places: list[str] = []

    def parse(self, words: Sequence[str]) -> dict[str, object]:
        """Return the arguments."""
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                self._places += waiting
                break
            if not word.startswith("-") or word == "-" or (_NUMBER.match(word) and word not in self._options):
                self._places.append(word)
            else:
                self._take_option(word, waiting)
        self._fill_places()
        self._check_complete()
        return self._arguments

    def _take_option(self, word: str, waiting: list[str]) -> None:
        name, sign, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = self._options.get(name)
        if parameter is None:
            self._take_short_flags(word)
        elif parameter.is_flag:
            if sign:
                raise self._complain(f"{name} takes no value")
            self._arguments[parameter.name] = not parameter.default
        elif sign or waiting:
            self._set(parameter, value if sign else waiting.pop(0), name)
        else:
            raise self._complain(f"{name} takes a value")

    def _take_short_flags(self, word: str) -> None:
        """Take several flags in a word, such as `-pr`."""
        flags = [self._options.get(f"-{letter}") for letter in word[1:]]
        if word.startswith("--") or not all(flag is not None and flag.is_flag for flag in flags):
            raise self._complain(f"there is no option {word}.{did_you_mean(word, self._options)}")
        for flag in flags:
            assert flag is not None
            self._arguments[flag.name] = not flag.default

    def _fill_places(self) -> None:
        """Give the words that are no options to the parameters, in order."""
        for parameter in self._command.parameters:
            if parameter.is_option or parameter.name in self._arguments:
                continue
            if parameter.takes_rest:
                if self._places or not parameter.is_required:
                    self._arguments[parameter.name] = [self._read(parameter, word) for word in self._places]
                self._places = []
            elif self._places:
                self._set(parameter, self._places.pop(0), parameter.name.upper())
        if self._places:
            raise self._complain(f"{self._places[0]!r} is too much; quote text of several words")

    def _check_complete(self) -> None:
        for parameter in self._command.parameters:
            if parameter.is_required and parameter.name not in self._arguments:
                name = parameter.option if parameter.is_option else parameter.name.upper()
                raise self._complain(f"{name} is missing")

    def _set(self, parameter: ShellParameter, text: str, name: str) -> None:
        self._arguments[parameter.name] = self._read(parameter, text, name)

    def _read(self, parameter: ShellParameter, text: str, name: str | None = None) -> object:
        try:
            return parameter.parse(text)
        except ValueError as error:
            raise self._complain(f"{name or parameter.name.upper()}: {error}") from None

    def _complain(self, problem: str) -> ShellInputError:
        return ShellInputError(f"{self._command.name}: {problem.rstrip('.')}. Usage: {self._command.usage}")


def _list_options(command: ShellCommand) -> Mapping[str, ShellParameter]:
    long = {option.option: option for option in command.options}
    return long | {option.short: option for option in command.options if option.short}
