"""Completions of what is being typed: commands, options, agents, runs and files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tactician.cli.shell_commands import ShellCommand, ShellParameter
from tactician.frozen import frozen

_LAST_WORD: Final = re.compile(r"""(?:"(?:\\.|[^"])*|'[^']*|(?:\\.|[^\s\\])*)\Z""")
_MOST: Final = 200


@frozen
class Suggestion:
    """Completion of the last word of a text.

    Attributes:
        text: the word.
        replaced: number of characters that it replaces.
        meaning: its purpose, in a few words.
    """

    text: str
    replaced: int
    meaning: str = ""


class Completions:
    """Completions of lines.

    Args:
        commands: the commands, by their names and aliases.
        values: functions that return what a parameter may be, with meanings, by the name of the parameter.
    """

    def __init__(
        self, commands: Mapping[str, ShellCommand], values: Mapping[str, Callable[[], Mapping[str, str]]]
    ) -> None:
        self._commands = commands
        self._values = values

    def suggest(self, text: str) -> Iterator[Suggestion]:
        """Yield the completions of the last word of a text."""
        match = _LAST_WORD.search(text)
        last = match[0] if match is not None else ""
        start, words = last.lstrip("\"'"), text[: len(text) - len(last)].split()
        number = 0
        for word, meaning in self._list_words(words, start):
            if word.startswith(start) and number < _MOST:
                number += 1
                yield Suggestion(shlex.quote(word), len(last), meaning.partition("\n")[0][:80])

    def _list_words(self, words: list[str], start: str) -> Iterable[tuple[str, str]]:
        """Return what may stand behind some words."""
        if not words:
            return ((name, command.description) for name, command in sorted(self._commands.items()))
        command = self._commands.get(words[0])
        if command is None:
            return ()
        if start.startswith("-"):
            return ((option.option, option.help) for option in command.options)
        return self._list_values(_find_parameter(command, words[1:]), start)

    def _list_values(self, parameter: ShellParameter | None, start: str) -> Iterable[tuple[str, str]]:
        if parameter is None:
            return ()
        if (list_known := self._values.get(parameter.name)) is not None:
            return list_known().items()
        if parameter.kind is Path or "Path" in str(parameter.kind):
            return ((file, "") for file in _list_files(start))
        return ((choice, "") for choice in parameter.choices)


def _find_parameter(command: ShellCommand, words: list[str]) -> ShellParameter | None:
    """Return the parameter that the next word is for."""
    named = {name: option for option in command.options for name in (option.option, option.short) if name}
    last = named.get(words[-1]) if words else None
    if last is not None and not last.is_flag:
        return last
    places = [parameter for parameter in command.parameters if not parameter.is_option]
    passed, skips = 0, False
    for word in words:
        option = named.get(word)
        passed += not skips and not word.startswith("-")
        skips = option is not None and not option.is_flag
    if passed < len(places):
        return places[passed]
    return places[-1] if places and places[-1].takes_rest else None


def _list_files(text: str) -> list[str]:
    """Return the files and folders whose path begins with a text, folders with `/` behind them."""
    folder = Path(text) if text.endswith("/") else Path(text).parent
    start = "" if text.endswith("/") else Path(text).name
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.startswith(start))
    except OSError:
        return []
    return [f"{path}/" if path.is_dir() else str(path) for path in paths if start or not path.name.startswith(".")]
