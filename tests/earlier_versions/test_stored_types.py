"""Names of Tactician's own types in earlier stores: each is found, although its module has moved since."""

from importlib import import_module
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tactician.process import ActionRetryPolicy
from tactician.process.stored_types import list_stored_names
from tactician.runs import TurnLimitError
from tests.support.modules import list_module_names

VERSIONS = sorted(Path(__file__).parent.glob("*/types.txt"))
ABOVE = ("tactician.serve", "tactician.cli", "tactician.testing", "tactician.__main__")


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.parent.name)
def test_types_are_found_by_the_names_of_an_earlier_version(file: Path) -> None:
    modules = [import_module(name) for name in list_module_names() if not name.startswith(ABOVE)]
    kinds = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    found = {name for kind in kinds if kind.__module__.startswith("tactician.") for name in list_stored_names(kind)}
    earlier = file.read_text(encoding="utf-8").split()
    assert len(earlier) > 300
    assert [name for name in earlier if name not in found] == []


def test_a_stored_error_is_found_by_its_earlier_name() -> None:
    stored = {"on": ["tactician.runs.errors.TurnLimitError"]}
    assert TypeAdapter(ActionRetryPolicy).validate_python(stored).on == (TurnLimitError,)
