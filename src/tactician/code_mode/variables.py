"""Variables of scripts, which the next script of the same run finds again."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Final
from zlib import compress, decompress

from tactician.errors import StoredStateError
from tactician.runs.progress.checkpoint import Checkpoint

_SUFFIX: Final = "~variables"
_FIELD: Final = "variables"


class ScriptVariables:
    """Variables of the scripts of a tool in a run, in its checkpoint.

    A script that runs again after a pause begins with the variables with which it began first.

    Args:
        place: the checkpoint of the call that runs a script; `None` to keep nothing.
        tool: name of the tool.
        limit: bytes that are kept at most.
    """

    def __init__(self, place: Checkpoint | None, tool: str, limit: int) -> None:
        outer = None if place is None else place.parent
        self._place = place
        self._kept = None if outer is None else outer.at(f"{tool}{_SUFFIX}")
        self._limit = limit

    def load(self) -> bytes | None:
        """Return the state with which the script begins; `None` for an empty state.

        Raises:
            StoredStateError: when what is saved cannot be read.
        """
        if self._place is None or self._kept is None:
            return None
        if _FIELD not in self._place.data:
            self._place.set(**{_FIELD: self._kept.data.get(_FIELD)})
        saved = self._place.data[_FIELD]
        if saved is None:
            return None
        try:
            return decompress(b64decode(str(saved)))
        except Exception as error:
            raise StoredStateError(f"The saved variables of scripts cannot be read: {error}") from error

    def keep(self, state: bytes) -> bool:
        """Keep a state for the next script; return false when it is too large, so that the state before remains."""
        if self._kept is None or self._limit == 0:
            return True
        if len(state) > self._limit:
            return False
        self._kept.set(**{_FIELD: b64encode(compress(state)).decode()})
        return True
