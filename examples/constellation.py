"""A help desk: a router over a supervisor over an agent and a network of agents.

Run it with `tactician run examples/constellation.py "Please plan a picnic"`. The embedded model is too small to
divide work; with `--scripted`, a script plays a larger one.
"""

from tactician import Agent, AgentNetwork, LlmOptions, RouterAgent, SupervisorAgent
from tactician.testing import ScriptedModel, ToolCall


def speaker(name: str, task: str) -> Agent:
    return Agent(name, model=LlmOptions(max_tokens=24), instructions=f"{task} One short sentence.", description=task)


def debate() -> AgentNetwork:
    """Two who speak once each, and one who hears both."""
    return AgentNetwork(
        "Debate",
        peers=[
            speaker("Optimist", "You say what is good about it."),
            speaker("Pessimist", "You say what may go wrong."),
        ],
        synthesizer=speaker("Judge", "You weigh both sides."),
        max_rounds=1,
    )


def planners() -> SupervisorAgent:
    """One who lets a plan be written, and weighed."""
    return SupervisorAgent(
        "Planners",
        model=LlmOptions(max_tokens=96),
        instructions="You plan events.",
        workers={"Writes a plan": speaker("Writer", "You plan events."), "Weighs a plan from two sides": debate()},
        max_turns=2,
    )


def script() -> ScriptedModel:
    """Return a model that routes, leads and debates."""
    return ScriptedModel(
        "1",
        ToolCall("invoke_writer", request="Plan a picnic."),
        "Meet at noon in the park, with sandwiches.",
        ToolCall("invoke_debate", request="A picnic at noon in the park, with sandwiches"),
        "The park costs nothing.",
        "It may rain.",
        "Go, and bring umbrellas.",
        "Meet at noon in the park, with sandwiches and umbrellas.",
    )


agent = RouterAgent(
    "Desk",
    routes={"planning events": planners(), "telling jokes": speaker("Comedian", "You tell jokes.")},
    fallback=speaker("Host", "You greet people."),
)
