"""Input of an ensemble: values for the templates of its tasks, or text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Final, cast

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tactician.ensemble.values.task_input import Values
from tactician.frozen import frozen
from tactician.llm.messages import join_text
from tactician.runs import Input
from tactician.runs.runnable import messages_of
from tactician.tools.tool import as_text

TEXT_NAME: Final = "input"
"""Name of the text of the caller in templates."""


def create_arguments_type(names: Iterable[str]) -> type[object]:
    """Return the type of a mapping with a text for each of these names, as the arguments of a tool."""
    create = cast("Callable[..., type[object]]", TypedDict)  # the names of the keys are data
    described = {name: Annotated[str, Field(description=_describe(name))] for name in names}
    kind = create("Values", {**described})
    kind.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    return kind


def _describe(name: str) -> str:
    return "the full task" if name == TEXT_NAME else f"the {name.replace('_', ' ').strip()}"


@frozen(enforced=False)
class EnsembleInput:
    """Input of a run of an ensemble.

    Attributes:
        values: values for templates, by name.
        text: the text of the caller, when the input is not a mapping; it is `{input}` in templates.
        shows_text: false when a template names the text, so that no other prompt has it.
    """

    values: Values
    text: str = ""
    shows_text: bool = True

    @classmethod
    def create(cls, input: Input) -> EnsembleInput:
        """Return the input as text and values. A mapping has values by their names; anything else is text."""
        if input is None:
            return cls({})
        if isinstance(input, (dict, Mapping)):  # the abstract class alone takes longer
            texts = {f"{name}": value if isinstance(value, str) else as_text(value) for name, value in input.items()}
            return cls(texts)
        text = input if isinstance(input, str) else join_text(messages_of(input))
        return cls({TEXT_NAME: text}, text)

    def to_plain(self) -> str | Values:
        """Return the input as text or JSON, which every store keeps."""
        return self.text or self.values
