"""Running a planned agent in a test."""

from tactician import Platform, ProcessOptions
from tactician.events.bus import EventListener
from tactician.process import AgentProcess, ProcessHandle
from tactician.testing import ScriptedModel


async def started(
    agent: object,
    *objects: object,
    model: ScriptedModel | None = None,
    options: ProcessOptions | None = None,
    on_event: EventListener | None = None,
) -> AgentProcess:
    """A process of the agent that has run as far as it can, on a platform of its own."""
    platform = Platform(models=model or ScriptedModel(), on_event=on_event)
    return await platform.start(agent, *objects, options=options)


def steps(process: ProcessHandle) -> list[str]:
    """The actions that were run, in order."""
    return [run.action for run in process.history]
