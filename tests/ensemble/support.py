"""Agents with scripts, and contexts for ensembles."""

from __future__ import annotations

from tactician import Agent, RunContext, Task, tool
from tactician.ensemble import TaskInput
from tactician.ensemble.tasks.task import Handler
from tactician.errors import Problem
from tactician.events.bus import EventListener
from tactician.llm import ModelRequest, ModelResponse
from tactician.llm.messages import SystemMessage
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.support.stored import JsonStore


def over(model: ScriptedModel | None = None, listener: EventListener | None = None) -> RunContext:
    """A context with this model, or with one that nobody may call, which keeps waiting runs in memory."""
    return RunContext.over(model or ScriptedModel(), listener)


def durable(model: ScriptedModel | None = None, listener: EventListener | None = None) -> RunContext:
    """A context whose runs are saved as text after each step."""
    return RunContext.over(model or ScriptedModel(), listener, store=JsonStore())


def says(role: str, *steps: Step) -> Agent:
    """An agent with a role and a script."""
    return Agent(role=role, model=ScriptedModel(*steps))


class CallsOnce(ScriptedModel):
    """Model that calls a tool, and answers once it has the result, also in another process."""

    def __init__(self, name: str, answer: str = "done", **arguments: object) -> None:
        super().__init__()
        self._call = ToolCall(name, **arguments)
        self._answer = answer

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the call, or the answer."""
        has_result = any(message.role == "tool" for message in request.messages)
        self.script(self._answer if has_result else self._call)
        return await super().generate(request)


def cashier(*answers: str) -> Agent:
    """An agent that pays before each answer, which needs an approval."""

    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    steps = (step for answer in answers for step in (ToolCall("pay", amount=7), answer))
    return Agent(role="Payer", model=ScriptedModel(*steps), tools=[pay])


def script_of(agent: Agent) -> ScriptedModel:
    """The script of an agent."""
    assert isinstance(agent.model, ScriptedModel)
    return agent.model


def prompt_of(model: ScriptedModel, call: int = 0) -> str:
    """What the model was told by the user in a call."""
    return "\n".join(message.text for message in model.calls[call].messages if message.role == "user")


def system_of(model: ScriptedModel, call: int = 0) -> str:
    """The instructions in a call."""
    return "\n".join(one.text for one in model.calls[call].messages if isinstance(one, SystemMessage))


def places_of(problems: tuple[Problem, ...]) -> list[str]:
    """The places of mistakes."""
    return [problem.path for problem in problems]


def counter(name: str, seen: list[TaskInput] | None = None) -> Handler:
    """A handler that gives its name with the number of its run."""
    runs = 0

    def handle(task: TaskInput) -> str:
        nonlocal runs
        runs += 1
        if seen is not None:
            seen.append(task)
        return f"{name}{runs}"

    return handle


def note(log: list[str], text: str) -> Handler:
    """A handler that notes its run and gives a text."""

    def handle(task: TaskInput) -> str:
        log.append(text)
        return text

    return handle


def numbered(*names: str, seen: list[TaskInput] | None = None) -> list[Task]:
    """Tasks whose outputs are numbered."""
    return [Task(f"Do {name}", id=name, handler=counter(name, seen)) for name in names]
