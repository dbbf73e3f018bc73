"""A help desk: a router over a supervisor over agents and a network of them. It needs no planning and no key.

Run it with `python examples/constellation.py "Please plan a picnic"`.
"""

import sys

from tactician import Agent, AgentNetwork, LlmOptions, RouterAgent, SupervisorAgent

SHORT = LlmOptions(max_tokens=24)


def speaker(name: str, does: str) -> Agent:
    """An agent that says little."""
    return Agent(name, model=SHORT, instructions=f"{does} One short sentence.", description=does)


debate = AgentNetwork(
    "Debate",
    [speaker("Optimist", "You say what is good about it."), speaker("Pessimist", "You say what may go wrong.")],
    synthesizer=speaker("Judge", "You weigh both sides."),
    max_rounds=1,
    description="Weighs a plan from two sides",
)
team = SupervisorAgent(
    "Planners",
    model=LlmOptions(max_tokens=96),
    instructions="You plan events.",
    workers={"Writes a plan": speaker("Writer", "You plan events."), "Weighs a plan from two sides": debate},
    max_turns=2,
)
agent = RouterAgent(
    "Desk",
    routes={"planning events": team, "telling jokes": speaker("Comedian", "You tell jokes.")},
    fallback=speaker("Host", "You greet people."),
)

if __name__ == "__main__":
    result = agent.run_sync(" ".join(sys.argv[1:]) or "Please plan a picnic")
    print(" > ".join(result.delegation_path))
    print(result.output)
