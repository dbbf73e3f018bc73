"""Event log: a file with a JSON object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tactician.errors import StoredStateError
from tactician.events.encoding import event_from_json, event_to_json
from tactician.events.event import Event
from tactician.secrets import find_masking
from tactician.suggestions import suggest_options

_MAX_LINE = 64 * 1024 * 1024


@suggest_options
class EventLog:
    """Listener that appends each event to a file: `Platform(on_event=EventLog("events.jsonl"))`.

    Keys and passwords are masked. Only the owner may read a file that it creates. Close the log at the end, or use it
    in a `with` statement.

    Args:
        path: the file; its folder must exist.

    Raises:
        OSError: when the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        def open_private(name: str, flags: int) -> int:
            return os.open(name, flags, 0o600)

        self._file: IO[str] = open(path, "a", encoding="utf-8", opener=open_private)  # noqa: SIM115

    def __call__(self, event: Event) -> None:
        """Append an event."""
        self._file.write(f"{json.dumps(find_masking().mask_json(event_to_json(event)))}\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_event_log(path: str | Path) -> Iterator[Event]:
    """Return the events of a log, oldest first. An incomplete last line is left out.

    Raises:
        OSError: when the file cannot be read.
        StoredStateError: when a line is not an event; the message has its number.
    """
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        number = 0
        while line := file.readline(_MAX_LINE):
            number += 1
            if not line.endswith("\n"):
                if len(line) < _MAX_LINE:
                    return
                raise StoredStateError(f"{path}:{number}: the line is longer than {_MAX_LINE:,} characters")
            try:
                yield event_from_json(line)
            except StoredStateError as error:
                raise StoredStateError(f"{path}:{number}: {error}") from error
