"""A consultancy: an analyst gives parts of the task to two colleagues, and a policy keeps an eye on it.

Run it with `tactician run examples/consultancy.py "Why do frogs sing?"`.
"""

from dataclasses import replace

from tactician import Agent, Delegation, Ensemble, LlmOptions, Task
from tactician.ensemble import DelegationContext, DelegationDecision, DelegationRequest
from tactician.ensemble.values.delegation import allow, modify, reject

SHORT = LlmOptions(max_tokens=200)


def keep_secrets(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
    """Refuse tasks about clients."""
    return reject("leave out the name of the client") if "client" in request.task.lower() else allow()


def ask_for_sources(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
    """Ask researchers for their sources."""
    if request.role != "Researcher" or request.expected_output:
        return allow()
    return modify(replace(request, expected_output="Each fact with its source"))


analyst = Agent(
    role="Analyst",
    goal="Answer the question",
    background="You let others do what they are better at.",
    allow_delegation=True,
)
researcher = Agent(role="Researcher", goal="Find facts")
critic = Agent(role="Critic", goal="Find the weakest point of an argument")

agent = Ensemble(
    "Consultancy",
    [Task("Answer this: {input}", expected_output="Three sentences", agent=analyst)],
    agents=[analyst, researcher, critic],
    model=SHORT,
    delegation=Delegation(max_depth=2, policies=[keep_secrets, ask_for_sources]),
    description="Answers questions",
)
