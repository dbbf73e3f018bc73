"""Questions of agents to people, as a tool."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import override

from tactician.ensemble.reviews.consultation import PersonConsultation, Question
from tactician.ensemble.reviews.review import find_timeout_mistakes
from tactician.errors import DeclarationError, ToolError
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.loop.output import InvalidOutput
from tactician.runs import RunContext
from tactician.runs.outcomes.suspension import Response
from tactician.suggestions import suggest_options
from tactician.tools import Tool
from tactician.tools.function import create_arguments_error

TOOL_NAME: Final = "ask_person"
_ANSWER: Final[JsonSchema] = {"type": "string"}
_SPEC: Final = ToolSpec(
    TOOL_NAME,
    "Ask a person, and get the answer as text. Ask only what you cannot find out otherwise.",
    {
        "type": "object",
        "properties": {"question": {"type": "string", "description": "the question, with all that one has to know"}},
        "required": ["question"],
        "additionalProperties": False,
    },
)


@suggest_options
class AskPerson(Tool):
    """Tool by which an agent asks a person. The run waits for the answer, days if need be.

    The reviewer of the ensemble, if any, is asked first.

    Args:
        timeout: seconds to wait; 0 or `None` waits for ever.
        default: the answer when nobody has answered in time.
        required_role: the role that is needed to answer; `None` for any.

    Raises:
        DeclarationError: when the timeout is no such number.
    """

    def __init__(
        self,
        *,
        timeout: float | None = None,
        default: str = "Nobody has answered in time.",
        required_role: str | None = None,
    ) -> None:
        if mistakes := [*find_timeout_mistakes(timeout)]:
            raise DeclarationError("AskPerson", mistakes)
        self._timeout = timeout
        self._default = default
        self._required_role = required_role

    @property
    @override
    def spec(self) -> ToolSpec:
        return _SPEC

    @override
    async def call(self, arguments: str, context: RunContext) -> str:
        """Return the answer of a person.

        Raises:
            InvalidArgumentsError: when the question is missing.
            ToolError: when it is blank.
            Suspended: when nobody has answered yet.
        """
        try:
            asked = _Arguments.model_validate_json(arguments)
        except ValidationError as error:
            raise create_arguments_error(error) from error
        if not asked.question.strip():
            raise ToolError("The question is blank.")
        question = Question(
            "person",
            asked.question,
            _ANSWER,
            _read_text,
            str,
            str,
            self._timeout,
            self._required_role,
            self._default,
        )
        answer = await PersonConsultation(question, context, None).ask()
        return self._default if answer is None else answer.value


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    question: str


def _read_text(response: Response) -> str:
    if isinstance(response, str) and response.strip():
        return response
    raise InvalidOutput("answer with text")
