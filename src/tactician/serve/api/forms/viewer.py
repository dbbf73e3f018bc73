"""Person who looks at runs: sees no secrets, and no words of runs that are not captured."""

from __future__ import annotations

from dataclasses import field, replace

from pydantic import JsonValue

from tactician.frozen import frozen
from tactician.people.person import Person
from tactician.platform import RunView
from tactician.runs.context.context import find_capture_mode
from tactician.secrets import Masking
from tactician.trace.capture import CaptureMode


@frozen
class Viewer:
    """Person who looks at a run.

    Attributes:
        person: the person.
        masking: masks of secrets.
        capture: how much of the run is captured.
        base: path at which the server is mounted in another application.
    """

    person: Person
    masking: Masking = field(repr=False)
    capture: CaptureMode = field(default_factory=find_capture_mode)
    base: str = ""

    @property
    def sees_content(self) -> bool:
        """True when the words of people, models and tools are shown."""
        return self.capture is not CaptureMode.OFF

    def look_at(self, run: RunView) -> Viewer:
        """Return the same person who looks at a run, or at one inside the run that the person looks at."""
        return self if run.capture is None else replace(self, capture=run.capture)

    def mask(self, text: str) -> str:
        """Return a text with masks for secrets."""
        return self.masking.mask(text)

    def mask_json(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with masks for secrets."""
        return self.masking.mask_json(value)
