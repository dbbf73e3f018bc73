"""A fact checker: several models check the same claims at once, and one verdict is made of what they say.

Run it with `tactician run examples/fact_checker.py "The Moon is made of cheese. Water boils at 100 degrees."`. The
embedded model knows too little to check facts; with `--scripted`, a script plays a larger one.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from tactician import (
    Ai,
    LlmOptions,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    scatter_gather,
)
from tactician.testing import ScriptedModel

CHECKERS = (LlmOptions(temperature=0.3, max_tokens=200), LlmOptions(temperature=0.0, max_tokens=200))


class Assertions(BaseModel):
    claims: Annotated[list[str], Field(min_length=1, max_length=5)]

    def __str__(self) -> str:
        return "\n".join(f"{number}. {claim}" for number, claim in enumerate(self.claims, start=1))


class Verdict(BaseModel):
    number: int
    is_true: bool


class FactCheck(BaseModel):
    """What one model says of the claims."""

    verdicts: list[Verdict]

    def says(self, number: int) -> bool | None:
        """Whether a claim is true; `None` when it was left out."""
        return next((verdict.is_true for verdict in self.verdicts if verdict.number == number), None)


class FactChecks(BaseModel):
    """What the models agree on, and what they do not."""

    true: list[str] = []
    false: list[str] = []
    disputed: list[str] = []

    def __str__(self) -> str:
        found = {"true": self.true, "false": self.false, "disputed": self.disputed}
        return "\n".join(f"{word}: {claim}" for word, claims in found.items() for claim in claims)


def reconcile(checks: list[FactCheck], assertions: Assertions) -> FactChecks:
    found = FactChecks()
    for number, claim in enumerate(assertions.claims, start=1):
        said = {check.says(number) for check in checks}
        group = found.true if said == {True} else found.false if said == {False} else found.disputed
        group.append(claim)
    return found


def check_by(options: LlmOptions) -> Callable[[Assertions, Ai], Awaitable[FactCheck]]:
    """The check by one model."""

    async def check(assertions: Assertions, ai: Ai) -> FactCheck:
        return await ai.with_llm(options).create(FactCheck, f"Which of these claims are true?\n{assertions}")

    return check


@planned_agent(description="Checks whether what a text says is true")
class FactChecker:
    def __init__(self, checkers: Sequence[LlmOptions] = CHECKERS) -> None:
        self.checkers = checkers

    @action
    async def find_assertions(self, user_input: UserInput, ai: Ai) -> Assertions:
        """Finds the claims in the text."""
        found = await ai.create(Assertions, f"List the distinct facts that this text claims:\n{user_input.content}")
        return Assertions(claims=list(dict.fromkeys(found.claims)))

    @achieves_goal("The claims of the text have been checked")
    @action
    async def check(self, assertions: Assertions) -> FactChecks:
        """Lets every model check the claims, and brings together what they say."""
        flow = scatter_gather(FactChecks, [check_by(options) for options in self.checkers], reconcile)
        return (await flow.run(assertions)).output


def script() -> ScriptedModel:
    """Return models that know a little, and do not agree on everything."""
    moon, water = Verdict(number=1, is_true=False), Verdict(number=2, is_true=True)
    return ScriptedModel(
        Assertions(claims=["The Moon is made of cheese", "Water boils at 100 degrees"]),
        FactCheck(verdicts=[moon, water]),
        FactCheck(verdicts=[moon, Verdict(number=2, is_true=False)]),
    )


agent = FactChecker()
