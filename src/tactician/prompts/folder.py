"""Prompts in the files of a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tactician.errors import ConfigurationError
from tactician.prompts.variables import rendered

_ENDINGS = ("", ".txt", ".md", ".prompt", ".j2")
_LONGEST = 1_000_000


class FolderPrompts:
    """A folder of templates: the prompt `support/greeting` is the file `support/greeting.md`, `.txt` or `.prompt`.

    `{{name}}` in a template stands for the filter of that name. Files are read when they are asked for.

    Args:
        folder: where they are. Nothing outside of it is read.
        encoding: that of the files.
    """

    def __init__(self, folder: str | Path, *, encoding: str = "utf-8") -> None:
        self.folder = Path(folder)
        self._encoding = encoding

    async def prompt(self, name: str, filters: Mapping[str, str]) -> str:
        """The text of a file, with the filters in the place of its variables.

        Raises:
            ConfigurationError: when there is no such file in the folder, or it cannot be read.
            MissingPromptVariable: when a variable of the template has no value.
        """
        template = await asyncio.to_thread(self._read, name)
        return rendered(template, filters, agent_id=name)

    def _read(self, name: str) -> str:
        file = self._find(name)
        try:
            with file.open(encoding=self._encoding) as opened:
                text = opened.read(_LONGEST + 1)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"The prompt {name!r} in {self.folder} cannot be read: {error}.") from error
        if len(text) > _LONGEST:
            raise ConfigurationError(f"The prompt {name!r} in {self.folder} has more than {_LONGEST:,} characters.")
        return text

    def _find(self, name: str) -> Path:
        root = self.folder.resolve()
        for ending in _ENDINGS:
            try:
                file = (root / f"{name}{ending}").resolve()
                if file.is_relative_to(root) and file.is_file():
                    return file
            except (OSError, ValueError):  # such a name can no file have
                break
        raise ConfigurationError(
            f"There is no prompt {name!r} in {self.folder}: no file {name}{', '.join(_ENDINGS[1:])} is there."
        )
