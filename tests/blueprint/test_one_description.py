"""Each field of a class of the program is in its blueprint and in its stored form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from tactician.amounts import Count
from tactician.blueprint.ensembles.ensemble import EnsembleBlueprint
from tactician.blueprint.ensembles.gates import ReviewPart
from tactician.blueprint.ensembles.group_parts import EdgePart
from tactician.blueprint.ensembles.phase_parts import PersonPart, PhasePart
from tactician.blueprint.ensembles.reflection import ReflectPart
from tactician.blueprint.ensembles.task_parts import TaskPart
from tactician.blueprint.ensembles.team_settings import BudgetPart, ConstraintsPart, DelegationPart
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.schema_base import Part, convert_type
from tactician.blueprint.settings import export_part
from tactician.data_fields import CodeOnly, list_data_fields
from tactician.documents.forms import form_of
from tactician.ensemble import Delegation, Edge, HierarchicalConstraints, Phase, Reflection, Review, Task
from tactician.ensemble.arguments import EnsembleArguments
from tactician.ensemble.phases.review import PersonReview
from tactician.llm.usage import UsageTally
from tactician.process import ProcessOptions, ProcessStatus
from tactician.process.saving.saved_state import restore_options, save_options
from tactician.process.state.state import ActionRun, ChildRun
from tactician.runs import Budget
from tests.blueprint import acme

_OTHER_NAMES = {"tools": "tool_class_names", "review": "reviews", "given_workflow": "workflow"}
PARTS: dict[type, type[BaseModel]] = {
    Budget: BudgetPart,
    HierarchicalConstraints: ConstraintsPart,
    Delegation: DelegationPart,
    Review: ReviewPart,
    PersonReview: PersonPart,
    Reflection: ReflectPart,
    Edge: EdgePart,
    Phase: PhasePart,
    Task: TaskPart,
}


@dataclass
class Scratch:
    attempts: Count = 3
    check: Callable[..., object] | None = None
    callback: CodeOnly[Callable[[], None] | None] = None


@form_of(Scratch, convert=convert_type, is_optional=True)
class ScratchPart(Part):
    """Settings of a test."""


def test_a_field_of_a_class_is_in_its_part_with_its_limits_and_what_only_code_sets_is_not() -> None:
    assert set(ScratchPart.model_fields) == {"attempts", "check"}
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        ScratchPart.model_validate({"attempts": -1})
    with pytest.raises(ValidationError):
        ScratchPart.model_validate({"callback": "os.abort"})


def test_a_field_of_a_class_is_exported_and_a_function_has_its_name() -> None:
    part = export_part(ScratchPart, Scratch(attempts=5, check=acme.count_words), Exporter())
    assert part is not None
    assert part.to_data() == {"attempts": 5, "check": "tests.blueprint.acme.count_words"}


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_every_field_is_in_the_blueprint(kind: type) -> None:
    names = {field.name for field in list_data_fields(kind) if not field.is_code_only}
    written = set(PARTS[kind].model_fields)
    assert {name for name in names if not {name, _OTHER_NAMES.get(name)} & written} == set()


def test_every_argument_of_an_ensemble_is_in_its_blueprint() -> None:
    names = {_OTHER_NAMES.get(name, name) for name in EnsembleArguments.__annotations__}
    assert names - set(EnsembleBlueprint.model_fields) == set()


def test_every_option_of_a_process_is_stored_but_for_what_only_code_sets() -> None:
    saved = save_options(ProcessOptions())
    assert isinstance(saved, dict)
    assert set(saved) == {field.alias for field in list_data_fields(ProcessOptions) if not field.is_code_only}
    assert restore_options(saved) == ProcessOptions()
    assert {field.name for field in list_data_fields(ProcessOptions) if field.is_code_only} == {
        *("blackboard", "terminate_when", "on_event"),
    }


def test_every_field_of_a_history_is_stored() -> None:
    run = ActionRun("act", 1.0, 2.0, UsageTally(), children=(ChildRun("1", "Agent", ProcessStatus.COMPLETED),))
    (saved,) = TypeAdapter(list[ActionRun]).dump_python([run], by_alias=True)
    assert set(saved) == {field.alias for field in list_data_fields(ActionRun)}
    assert set(saved["children"][0]) == {field.alias for field in list_data_fields(ChildRun)}
