"""Runs of cases as reports and stores have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pydantic
from pydantic_core import PydanticSerializationError, to_json
from pydantic_evals.reporting import ReportCase, ReportCaseFailure

from tactician.errors import StoredStateError


@dataclass(kw_only=True, slots=True)
class TrialEntry:
    """One run of a case in a report.

    Attributes:
        name: name of the run of the case, such as `"refund [2/5]"`.
        case: name of the case.
        repetition: 1 for the first run of the case.
        run_id: id of the run: `tactician trace`, `tactician fork` and the dashboard take it.
        seconds: how long it took.
        cost: US dollars; `None` when a price is not known.
        tokens: input and output tokens.
        passed: what pydantic-evals reports of a case whose run gave an output.
        failed: what it reports of a case whose run raised an error.
    """

    name: str
    case: str
    repetition: int = 1
    run_id: str = ""
    seconds: float = 0.0
    cost: float | None = None
    tokens: int = 0
    passed: ReportCase[Any, Any, Any] | None = None
    failed: ReportCaseFailure[Any, Any, Any] | None = None

    @property
    def scores(self) -> dict[str, float]:
        """The scores and assertions of the run by name; an assertion is 0 or 1."""
        if self.passed is None:
            return {}
        results = {**self.passed.assertions, **self.passed.scores}
        return {name: float(result.value) for name, result in results.items()}

    def to_json(self) -> str:
        """Return the entry as JSON text; an object without a JSON form is its `repr`."""
        try:
            return to_json(self, fallback=repr).decode()
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise StoredStateError(f"The case {self.name} cannot be kept: {error}") from error


_ENTRY: Final = pydantic.TypeAdapter(TrialEntry)


def read_entries(texts: Iterable[str]) -> Sequence[TrialEntry]:
    """Return the entries that `TrialEntry.to_json` wrote.

    Raises:
        StoredStateError: when one of them cannot be read.
    """
    try:
        return [_ENTRY.validate_json(text) for text in texts]
    except pydantic.ValidationError as error:
        raise StoredStateError(f"A case of the evaluation cannot be read: {error}") from error
