"""Names of OpenTelemetry's conventions for generative AI that we use, and our own beside them.

All of the conventions are in development, and what the package `opentelemetry-semantic-conventions` has of them is
deprecated. So the names are here, as they are at a certain revision.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

REVISION: Final = "004902b8cb70aa5ae6ca4ae07132b7daabcd3e10"
"""Commit of github.com/open-telemetry/semantic-conventions-genai whose `docs/gen-ai` these names are from."""
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"
"""Schema of the general conventions. Those for generative AI have published none yet."""
SCOPE: Final = "tactician"
"""Name of the tracer and of the meter."""

# Values of `gen_ai.operation.name`.
CHAT: Final = "chat"
EMBEDDINGS: Final = "embeddings"
EXECUTE_TOOL: Final = "execute_tool"
GENERATE_CONTENT: Final = "generate_content"
INVOKE_AGENT: Final = "invoke_agent"
PLAN: Final = "plan"
RETRIEVAL: Final = "retrieval"

# Attributes.
ERROR_TYPE: Final = "error.type"
OTHER_ERROR: Final = "_OTHER"
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_DESCRIPTION: Final = "gen_ai.agent.description"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_TOP_P: Final = "gen_ai.request.top_p"
REQUEST_TOP_K: Final = "gen_ai.request.top_k"
REQUEST_SEED: Final = "gen_ai.request.seed"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
OUTPUT_TYPE: Final = "gen_ai.output.type"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"
TOOL: Final = "gen_ai.tool.name"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
DATA_SOURCE: Final = "gen_ai.data_source.id"
TOP_K: Final = "gen_ai.retrieval.top_k"

# Attributes with content: only on request.
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
QUERY: Final = "gen_ai.retrieval.query.text"

# Metrics.
TOKEN_USAGE: Final = "gen_ai.client.token.usage"
OPERATION_DURATION: Final = "gen_ai.client.operation.duration"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"
AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
TOKEN_BOUNDARIES: Final = tuple(4**exponent for exponent in range(14))
SECOND_BOUNDARIES: Final = tuple(0.01 * 2**exponent for exponent in range(14))
RUN_BOUNDARIES: Final = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)

# Our own.
RUN_ID: Final = "tactician.run.id"
RUN_PATH: Final = "tactician.run.path"
RUN_STATUS: Final = "tactician.run.status"
RUN_RESUMED: Final = "tactician.run.resumed"
SPAN_KIND: Final = "tactician.span.kind"
MESH_NODE: Final = "tactician.mesh.node"
MESH_INSTANCE: Final = "tactician.mesh.instance"
MESH_CAPABILITY: Final = "tactician.mesh.capability"
MESH_OUTCOME: Final = "tactician.mesh.outcome"
MESH_REQUESTS: Final = "tactician.mesh.requests"
MESH_QUEUE_DEPTH: Final = "tactician.mesh.queue.depth"
MESH_OLDEST_AGE: Final = "tactician.mesh.queue.oldest_age"
MESH_RUNNING: Final = "tactician.mesh.running"
MESH_EXPECTED_WAIT: Final = "tactician.mesh.expected_wait"
TASK_ID: Final = "tactician.task.id"
ACTION: Final = "tactician.action.name"
ACTION_OUTPUTS: Final = "tactician.action.outputs"
GOALS: Final = "tactician.goals"
PLAN_GOAL: Final = "tactician.plan.goal"
PLAN_ACTIONS: Final = "tactician.plan.actions"
PLAN_COST: Final = "tactician.plan.cost"
PLAN_OPTIMAL: Final = "tactician.plan.optimal"
PLAN_BOUND: Final = "tactician.plan.bound"
PLAN_GAP: Final = "tactician.plan.gap"
INSTANCE: Final = "tactician.instance"
REASON: Final = "tactician.reason"
COST: Final = "tactician.cost"
DOCUMENTS: Final = "tactician.retrieval.documents"
PLANNING_DURATION: Final = "tactician.plan.duration"
QUEUE_DURATION: Final = "tactician.router.queue.duration"
RETRIES: Final = "tactician.router.retries"
FALLBACKS: Final = "tactician.router.fallbacks"
OPEN_CIRCUITS: Final = "tactician.router.circuits.open"

_PROVIDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "azure-openai": "azure.ai.openai",
        "bedrock": "aws.bedrock",
        "gemini": "gcp.gemini",
        "google-gla": "gcp.gemini",
        "google-vertex": "gcp.vertex_ai",
        "grok": "x_ai",
        "mistral": "mistral_ai",
        "moonshot": "moonshot_ai",
        "moonshotai": "moonshot_ai",
    }
)


def find_provider(instance: str) -> str:
    """Return the conventions' name of a provider; an instance of another name keeps that."""
    return _PROVIDERS.get(instance, instance)
