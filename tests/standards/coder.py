"""Agent whose model writes a script that calls tools, each of which is a side effect in a ledger."""

from __future__ import annotations

from tactician import Agent, RunContext, tool
from tactician.code_mode import CodeTool
from tactician.llm import ModelRequest, ModelResponse, ToolResult
from tactician.testing import ScriptedModel, ToolCall
from tests.crash.ledger import Ledger

SCRIPT = """
import asyncio
import random
numbers = [await count(number=random.randint(1, 100))]
numbers += await asyncio.gather(*(count(number=n) for n in range(200, 203)))
numbers.append(await count(number=300))
len(numbers)
"""


class CoderModel(ScriptedModel):
    """Model that answers with a script, and then with its result."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer, which depends on nothing but the messages."""
        last = request.messages[-1]
        self.script(last.content if isinstance(last, ToolResult) else ToolCall("run_code", code=SCRIPT))
        return await super().generate(request)


def create_coder(ledger: Ledger) -> Agent[str]:
    """Return the agent, whose tool takes note of its calls."""

    @tool
    async def count(number: int, context: RunContext) -> int:
        """Count a number."""
        step = "first" if number <= 100 else str(number)
        await ledger.record("script", step, context.idempotency_key)
        return number

    return Agent("Coder", model=CoderModel(), tools=[CodeTool([count])])
