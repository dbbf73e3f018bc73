"""A fact checker: several models check the same claims at once, and one verdict is made of what they say.

Run it with `tactician run examples/fact_checker.py "The Moon is made of cheese. Water boils at 100 degrees."`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from pydantic import BaseModel

from tactician import (
    Ai,
    LlmOptions,
    OperationContext,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    scatter_gather,
)

CHECKERS = (LlmOptions(temperature=0.3, max_tokens=200), LlmOptions(temperature=0.0, max_tokens=200))


class Assertions(BaseModel):
    claims: list[str]


class Verdict(BaseModel):
    claim: str
    is_true: bool


class FactCheck(BaseModel):
    verdicts: list[Verdict]


class FactChecks(BaseModel):
    """What the checkers agree on, and what they do not."""

    agreed: list[Verdict]
    disputed: list[str]

    def __str__(self) -> str:
        lines = [f"{'true' if verdict.is_true else 'false'}: {verdict.claim}" for verdict in self.agreed]
        return "\n".join((*lines, *(f"disputed: {claim}" for claim in self.disputed)))


def reconcile(checks: list[FactCheck], assertions: Assertions) -> FactChecks:
    votes = Counter((verdict.claim, verdict.is_true) for check in checks for verdict in check.verdicts)
    agreed = [Verdict(claim=claim, is_true=said) for (claim, said), count in votes.items() if count == len(checks)]
    known = {verdict.claim for verdict in agreed}
    return FactChecks(agreed=agreed, disputed=[claim for claim in assertions.claims if claim not in known])


def check_by(options: LlmOptions) -> Callable[[Assertions, Ai], Awaitable[FactCheck]]:
    """The check by one model."""

    async def check(assertions: Assertions, ai: Ai) -> FactCheck:
        claims = "\n".join(assertions.claims)
        return await ai.with_llm(options).create(FactCheck, f"Which of these claims are true?\n{claims}")

    return check


@planned_agent(description="Checks whether what a text says is true")
class FactChecker:
    def __init__(self, checkers: Sequence[LlmOptions] = CHECKERS) -> None:
        self.checkers = checkers

    @action
    async def find_assertions(self, user_input: UserInput, ai: Ai) -> Assertions:
        """Finds the claims in the text."""
        return await ai.create(Assertions, f"List the distinct facts that this text claims:\n{user_input.content}")

    @achieves_goal("The claims of the text have been checked")
    @action
    async def check(self, assertions: Assertions, context: OperationContext) -> FactChecks:
        """Lets every model check the claims, and brings together what they say."""
        flow = scatter_gather(FactChecks, [check_by(options) for options in self.checkers], reconcile)
        return (await flow.run(assertions, context=context.run)).output


agent = FactChecker()
