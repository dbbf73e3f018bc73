"""Data sets in files, in the format of pydantic-evals, with the evaluators of this package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic_evals import Dataset
from pydantic_evals.evaluators import Evaluator

from tactician.documents.document import load_document
from tactician.errors import ConfigurationError
from tactician.evals.evaluators.answers import Cheaper, Faster, Schema, Similar
from tactician.evals.evaluators.documents import Cites, Retrieved
from tactician.evals.evaluators.judges import Judge
from tactician.evals.evaluators.person_judge import PersonJudge
from tactician.evals.evaluators.plans import PlanAvoids, PlanCost, PlanOrder, PlanUses, Replans, RulesHeld
from tactician.evals.evaluators.teams import HandedTo, Reviewed, TasksDone
from tactician.evals.evaluators.tools import ToolsCalled
from tactician.text import describe_error

EVALUATORS: Final[tuple[type[Evaluator[Any, Any, Any]], ...]] = (
    *(ToolsCalled, PlanUses, PlanAvoids, PlanOrder, PlanCost, Replans, RulesHeld, HandedTo, TasksDone, Reviewed),
    *(Retrieved, Cites, Schema, Similar, Cheaper, Faster, Judge, PersonJudge),
)
"""The evaluators of this package, for `Dataset.from_file(..., custom_evaluator_types=EVALUATORS)`."""
_ANY: Final = Dataset[Any, Any, Any]


def load_dataset(
    file: str | Path,
    *,
    kind: type[Dataset[Any, Any, Any]] = _ANY,
    evaluators: Sequence[type[Evaluator[Any, Any, Any]]] = (),
) -> Dataset[Any, Any, Any]:
    """Return the data set in a YAML or JSON file.

    Args:
        file: the file.
        kind: the data set with the types of inputs, outputs and metadata, such as `Dataset[Order, Refund, None]`;
            without it they are plain data.
        evaluators: classes of evaluators of your own, which the file may name.

    Raises:
        DocumentError: when the file cannot be read, or exceeds the limits of documents.
        ConfigurationError: when it is no data set, or names an unknown evaluator.
    """
    path = Path(file)
    data = load_document(path).data
    if not isinstance(data, dict):
        raise ConfigurationError(f"{path} is no data set: write a mapping with `name` and `cases`")
    try:
        return kind.from_dict(data, [*EVALUATORS, *evaluators], default_name=path.stem)
    except (ValueError, ExceptionGroup) as error:
        problems = error.exceptions if isinstance(error, ExceptionGroup) else [error]
        raise ConfigurationError(f"{path} is no data set: {'; '.join(map(describe_error, problems))}") from error
