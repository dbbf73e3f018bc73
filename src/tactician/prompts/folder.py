"""Prompts in files of a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tactician.errors import ConfigurationError
from tactician.prompts.texts import find_text_file, read_text_file
from tactician.prompts.variables import render_variables
from tactician.suggestions import suggest_options

_ENDINGS = ("", ".md", ".txt", ".prompt")


@suggest_options
class FolderPrompts:
    """Folder of templates: the prompt `support/greeting` is `support/greeting.md`, `.txt` or `.prompt`.

    `{{name}}` in a template stands for the filter with that name. Files are read at each request.

    Args:
        folder: the folder. Nothing outside of it is read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"FolderPrompts({str(self.folder)!r})"

    async def get_prompt(self, name: str, filters: Mapping[str, str]) -> str:
        """Return the text of a file, with filters as values of its variables.

        Raises:
            ConfigurationError: when there is no such file in the folder, or it cannot be read.
            MissingPromptVariable: when a variable of the template has no value.
        """
        template = await asyncio.to_thread(self._read, name)
        return render_variables(template, filters, agent_id=name, argument="filters")

    def _read(self, name: str) -> str:
        return read_text_file(self._find(name), f"The prompt {name!r} in {self.folder}")

    def _find(self, name: str) -> Path:
        if (file := find_text_file(self.folder, name, _ENDINGS)) is not None:
            return file
        if not self.folder.is_dir():
            raise ConfigurationError(f"There is no prompt {name!r}: {self.folder} is not a folder.")
        raise ConfigurationError(
            f"There is no prompt {name!r} in {self.folder}: no file in it is called {name!r}, with or without "
            f"{', '.join(_ENDINGS[1:])} at its end."
        )
