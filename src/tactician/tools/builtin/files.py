"""Files of a workspace, to read and to write."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Final, Self

from typing_extensions import override

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError, ToolError
from tactician.grammar import format_count
from tactician.text import replace_surrogates
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.confined_folder import ConfinedFolder
from tactician.tools.function import tool
from tactician.tools.tool import Tool

MAX_READ: Final = 200_000
"""Bytes that `read_file` returns at once by default."""
MAX_WRITE: Final = 1_000_000
"""Bytes of a file that `write_file` writes by default."""
_FEWEST: Final = 4
"""Bytes of the longest character: with fewer, a file could not be read on."""


@dataclass(frozen=True)
class FileTool(ConfigurableTool):
    """Tool that works on the files of a workspace.

    Attributes:
        workspace: the folder that paths cannot leave. Without a folder, a call is a `ConfigurationError`.
        max_bytes: bytes that a call may read or write.
    """

    workspace: ConfinedFolder | None = None
    max_bytes: int = 0

    def within(self, folder: str | os.PathLike[str], *, max_bytes: int | None = None) -> Self:
        """Return the tool for the files of a folder.

        Args:
            folder: the folder. Paths of the model are relative to it, and cannot leave it.
            max_bytes: bytes that a call may read or write, 4 or more.
        """
        if max_bytes is not None:
            need_amount(f"{self.name}.max_bytes", max_bytes, least=_FEWEST, whole=True)
        return replace(
            self, workspace=ConfinedFolder(folder), max_bytes=self.max_bytes if max_bytes is None else max_bytes
        )

    @property
    def _files(self) -> ConfinedFolder:
        if self.workspace is None:
            raise ConfigurationError(f'{self.name} has no workspace. Use {self.name}.within("folder").')
        return self.workspace


@dataclass(frozen=True)
class FileReader(FileTool):
    """Tool that reads text files: `read_file`."""

    max_bytes: int = MAX_READ

    @tool(name="read_file", blocking=True)
    def read(self, path: str, offset: int = 0) -> str:
        """Read a text file. A long file is read in parts.

        Args:
            path: path of the file, relative to the workspace
            offset: number of bytes to leave out at the beginning
        """
        if offset < 0:
            raise ToolError("The offset must not be negative.")
        content, size = self._files.read(path, offset, self.max_bytes)
        if b"\0" in content:
            raise ToolError(f"{path!r} is not a text file.")
        if (end := offset + len(content)) >= size or not content:
            return _decode(content)
        whole = content[: _find_character_end(content)]
        end = offset + len(whole)
        return f"{_decode(whole)}\n[{format_count(size - end, 'more byte')}: read on with offset={end}]"

    @property
    @override
    def _function(self) -> Tool:
        return self.read


@dataclass(frozen=True)
class FileWriter(FileTool):
    """Tool that writes text files: `write_file`."""

    max_bytes: int = MAX_WRITE

    @tool(name="write_file", blocking=True)
    def write(self, path: str, content: str) -> str:
        """Write a text file, with the folders that lead to it. A file that exists is replaced.

        Args:
            path: path of the file, relative to the workspace
            content: the whole text
        """
        encoded = replace_surrogates(content).encode()
        if len(encoded) > self.max_bytes:
            raise ToolError(
                f"The text has {format_count(len(encoded), 'byte')}, and at most {self.max_bytes:,} can be written."
            )
        self._files.write(path, encoded)
        return f"Wrote {format_count(len(encoded), 'byte')} to {path}."

    @property
    @override
    def _function(self) -> Tool:
        return self.write


def _decode(content: bytes) -> str:
    """Return bytes as text, with a note if that is not what they are: written back, the file would lose them."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"{content.decode(errors='replace')}\n[not all of it is UTF-8: \ufffd stands for other bytes]"


def _find_character_end(content: bytes) -> int:
    """Return the end of the last whole UTF-8 character."""
    for back in range(1, min(4, len(content)) + 1):
        byte = content[-back]
        if byte & 0xC0 == 0x80:  # inside a character
            continue
        length = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        return len(content) - back if length > back else len(content)
    return len(content)


read_file: Final = FileReader()
write_file: Final = FileWriter()
