"""Who is compared: the one table of clients, the environment each runs in, and what a program of it imports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contender:
    """A client: its name, its environment, and what it imports to do a run, where importing is measured too.

    `module` is both the script in `benchmarks.clients` and the short name in raw results.
    """

    name: str
    module: str
    environment: str
    package: str = ""
    needs: str = ""


RAW = Contender("raw aiohttp", "raw_aiohttp", "tactician", "aiohttp", "import aiohttp, json")
TACTICIAN = Contender(
    "tactician",
    "tactician",
    "tactician",
    "tactician",
    # aiohttp is loaded by the first call; named here, because the others have loaded their HTTP client by then.
    "import aiohttp; from tactician import Agent, Platform, tool; from tactician.llm.remote import RemoteModel",
)
PEERS = (
    Contender(
        "agno",
        "agno",
        "agno",
        "agno",
        "from agno.agent import Agent; from agno.models.openai import OpenAIChat",
    ),
    Contender(
        "agent-framework",
        "agent_framework",
        "agent-framework",
        "agent_framework",
        "from agent_framework import Agent; from agent_framework.openai import OpenAIChatCompletionClient",
    ),
    Contender(
        "langgraph",
        "langgraph",
        "langgraph",
        "langgraph.graph",
        "from langchain.agents import create_agent; from langchain_openai import ChatOpenAI",
    ),
    Contender(
        "openai-agents",
        "openai_agents",
        "openai-agents",
        "agents",
        "from agents import Agent, OpenAIChatCompletionsModel, Runner; from openai import AsyncOpenAI",
    ),
    Contender(
        "pydantic-ai",
        "pydantic_ai",
        "pydantic-ai",
        "pydantic_ai",
        "from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel",
    ),
)
CONTENDERS = (RAW, TACTICIAN, *PEERS)

# Who makes one call to a model, without an agent around it.
RAW_CALLER = Contender("raw aiohttp", "calls.raw_aiohttp", "tactician")
TACTICIAN_CALLER = Contender("tactician", "calls.tactician", "tactician")
CALLERS = (
    RAW_CALLER,
    TACTICIAN_CALLER,
    Contender("tactician, routed", "calls.tactician_routed", "tactician"),
    Contender("openai SDK", "calls.openai_sdk", "openai-sdk"),
    Contender("anthropic SDK", "calls.anthropic_sdk", "anthropic-sdk"),
    Contender("pydantic-ai direct", "calls.pydantic_ai", "pydantic-ai"),
)

# Who gets two tasks done, the second of which reads the output of the first.
TACTICIAN_ENSEMBLE = Contender("tactician, ensemble", "ensembles.tactician", "tactician")
ENSEMBLES = (TACTICIAN_ENSEMBLE, Contender("crewai", "ensembles.crewai", "crewai"))
