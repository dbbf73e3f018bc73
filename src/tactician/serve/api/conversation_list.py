"""List of the conversations that a person may read."""

from __future__ import annotations

from typing import Final

from tactician.conversation.summary import ConversationSummary
from tactician.runs import RunStatus
from tactician.runs.progress.store import RunStore
from tactician.serve.api.forms import ConversationEntryForm, ConversationsForm
from tactician.serve.api.operations import ApiOperation, Call, count_up_to
from tactician.serve.api.server import ApiServer
from tactician.serve.api.visibility import may_read_conversation

_MOST: Final = 200
_LARGEST: Final = 2**53
_PAGES: Final = 20
"""Pages of the store that a request reads at most, however few conversations the caller may read."""


async def list_conversations(call: Call) -> ConversationsForm:
    """Return the conversations that the caller may read, the newest first."""
    limit, after = call.find_number("limit", 50, _MOST), call.find_number("after", 0, _LARGEST) or None
    agent = call.request.query_params.get("agent", "")
    readable: list[ConversationSummary] = []
    for _ in range(_PAGES):
        page = await call.server.platform.conversations.find_summaries(limit=_MOST, after=after)
        for summary in page:
            if len(readable) == limit:
                return await _show(call, readable, after)
            after = summary.number
            if may_read_conversation(call.person, summary.user) and agent in ("", _find_agent(call.server, summary)):
                readable.append(summary)
        if len(page) < _MOST:
            return await _show(call, readable, None)
    return await _show(call, readable, after)


async def _show(call: Call, readable: list[ConversationSummary], after: int | None) -> ConversationsForm:
    entries = [await _show_entry(call, summary) for summary in readable]
    return ConversationsForm(conversations=tuple(entries), next=after)


async def _show_entry(call: Call, summary: ConversationSummary) -> ConversationEntryForm:
    store = RunStore(call.server.platform.store)
    record = None if summary.run_id is None else await store.load_readable(summary.run_id)
    return ConversationEntryForm(
        id=summary.id,
        agent=_find_agent(call.server, summary),
        title=call.viewer.mask(summary.title),
        changed_at=summary.changed_at,
        run_id=summary.run_id,
        waiting=record is not None and record.status is RunStatus.WAITING,
    )


def _find_agent(server: ApiServer, summary: ConversationSummary) -> str | None:
    """Return the id of the agent of a conversation: a chatbot of a planned agent has stored the agent's name."""
    agents = server.platform.agents_by_id
    if summary.agent is None or summary.agent in agents:
        return summary.agent
    names = ((agent_id, {agent.name, getattr(agent, "agent_name", "")}) for agent_id, agent in agents.items())
    return next((agent_id for agent_id, of_agent in names if summary.agent in of_agent), summary.agent)


LIST_CONVERSATIONS: Final = ApiOperation(
    "GET",
    "/api/conversations",
    list_conversations,
    "List the conversations that you may read, the newest first",
    ConversationsForm,
    right=None,
    query={
        "agent": "Id of the agent",
        "limit": "Number of conversations at most; 50 by default",
        "after": "Number of the conversation before the first: `next` of the page before",
    },
    query_types={"limit": count_up_to(_MOST), "after": count_up_to(_LARGEST)},
)
