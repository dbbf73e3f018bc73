"""Built-in model profiles: parameters that the models of each provider take, as of November 2026.

Sources: the providers' references and guides, as named beside the rows; xAI's list was tested against its API
(NousResearch/hermes-agent, pull request 23435). Parameters that are not listed here are sent as requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Rows: TypeAlias = Mapping[str, Mapping[str, object]]
"""Profile values by the pattern of the models' names."""

# OpenAI: "Reasoning models" and "Using GPT-5.x", the parameters of each model. From GPT-5.1 to 5.4, sampling can be
# set only without reasoning; before and after that never. A pattern in the middle names models that do not reason.
_OPENAI: Rows = {
    "gpt-3.5*": {"reasoning_effort": False, "images": False},
    "gpt-4*": {"reasoning_effort": False},
    "chatgpt-*": {"reasoning_effort": False},
    "ft:gpt-*": {"reasoning_effort": False},
    "o1*": {"temperature": False, "reasoning_effort": ("low", "medium", "high"), "encrypted_reasoning": True},
    "o3*": {"temperature": False, "reasoning_effort": ("low", "medium", "high"), "encrypted_reasoning": True},
    "o3-mini*": {"images": False},
    "o4*": {"temperature": False, "reasoning_effort": ("low", "medium", "high"), "encrypted_reasoning": True},
    "gpt-5*": {
        "temperature": False,
        "reasoning_effort": ("none", "low", "medium", "high", "xhigh"),
        "encrypted_reasoning": True,
    },
    "gpt-5": {"reasoning_effort": ("minimal", "low", "medium", "high")},
    "gpt-5-*": {"reasoning_effort": ("minimal", "low", "medium", "high")},
    "gpt-5.1*": {
        "temperature": True,
        "sampling_while_reasoning": False,
        "reasoning_effort": ("none", "low", "medium", "high"),
    },
    "gpt-5.2*": {"temperature": True, "sampling_while_reasoning": False},
    "gpt-5.3*": {"temperature": True, "sampling_while_reasoning": False},
    "gpt-5.4*": {"temperature": True, "sampling_while_reasoning": False},
    "gpt-5.6*": {"reasoning_effort": ("none", "low", "medium", "high", "xhigh", "max")},
    "gpt-6*": {
        "temperature": False,
        "reasoning_effort": ("none", "low", "medium", "high", "xhigh", "max"),
        "encrypted_reasoning": True,
    },
    "gpt-5*-pro*": {"temperature": False, "reasoning_effort": ("medium", "high", "xhigh")},
    "gpt-5-pro*": {"reasoning_effort": ("high",)},
    "gpt-5*-codex*": {"temperature": False, "reasoning_effort": ("low", "medium", "high", "xhigh")},
    "gpt-5-chat*": {"temperature": True, "reasoning_effort": False, "encrypted_reasoning": False},
    "gpt-5.*-chat*": {"temperature": False, "reasoning_effort": False, "encrypted_reasoning": False},
    "gpt-chat-*": {"temperature": False, "reasoning_effort": False},
}

# Mistral: "Reasoning". Magistral always reasons, and other models refuse its `prompt_mode`.
_MISTRAL: Rows = {
    "magistral*": {"extra": {"prompt_mode": "reasoning"}},
    "mistral-small-latest": {"reasoning_effort": ("none", "high")},
    "mistral-small-2603*": {"reasoning_effort": ("none", "high")},
    "mistral-medium-3-5*": {"reasoning_effort": ("none", "high")},
    "mistral-medium-2604*": {"reasoning_effort": ("none", "high")},
    "mistral-large-4*": {"reasoning_effort": ("low", "medium", "high")},
    "codestral*": {"images": False},
}

# xAI: "Reasoning". Grok 4 reasons, and refuses an effort.
_GROK: Rows = {
    "grok-3*": {"images": False},
    "grok-code*": {"images": False},
    "grok-3-mini*": {"reasoning_effort": ("low", "high")},
    "grok-4.20-multi-agent*": {"reasoning_effort": ("low", "medium", "high")},
    "grok-4.3*": {"reasoning_effort": ("low", "medium", "high")},
}

# DeepSeek: "Thinking mode". While thinking, the model refuses a forced tool call.
_THINKS = {"replay_reasoning": True, "forced_tools": False}
_DEEPSEEK: Rows = {
    "deepseek-reasoner*": _THINKS,
    "deepseek-v4*": {
        **_THINKS,
        "reasoning_effort": ("low", "high", "max"),
        "no_reasoning": {"thinking": {"type": "disabled"}},
    },
}

# Google: "Thought signatures". From 3 on, the first call of each answer must be signed; this signature says that
# another model made the call.
_UNSIGNED = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}

# Google: "OpenAI compatibility", thinking. Only these models take an effort; 2.5 Pro cannot turn thinking off.
_GEMINI: Rows = {
    "gemini-2.0-flash-thinking*": {"reasoning_effort": ("low", "medium", "high")},
    "gemini-2.5-pro*": {"reasoning_effort": ("low", "medium", "high")},
    "gemini-2.5-flash*": {"reasoning_effort": ("none", "low", "medium", "high")},
    "gemini-3*": {"reasoning_effort": ("minimal", "low", "medium", "high"), "unsigned_call": _UNSIGNED},
    "gemini-4*": {"reasoning_effort": ("minimal", "low", "medium", "high"), "unsigned_call": _UNSIGNED},
}

# Anthropic: "Models overview", "Thinking", "Structured outputs", "Code execution tool", and the pages "What's new in
# Claude ..." of each model. Models from 4.7 on refuse sampling, think as they see fit and keep that to themselves
# unless requested: the provider's dialect says so. These are the models before 4.7, and later exceptions.
_SAMPLES: Mapping[str, object] = {"temperature": True, "top_k": True, "thinking_display": ""}
_SMALL: Mapping[str, object] = {
    **_SAMPLES,
    "thinking": "budget",
    "default_max_tokens": 4096,
    "native_tools": {
        "web_search": {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        "code_interpreter": {"type": "code_execution_20250825", "name": "code_execution"},
    },
}
_ALWAYS_THINKS: Mapping[str, object] = {"no_reasoning": {"output_config": {"effort": "low"}}}
_CLAUDE: Rows = {
    "claude-3*": {**_SMALL, "json_schema": False, "thinking": "", "no_reasoning": {}},
    "claude-3-7*": {"thinking": "budget"},
    "claude-*-4-0*": {**_SMALL, "json_schema": False},
    "claude-*-4-2025*": {**_SMALL, "json_schema": False},
    "claude-*-4-1*": _SMALL,
    "claude-*-4-5*": {**_SAMPLES, "thinking": "budget"},
    "claude-haiku-4-5*": {"native_tools": _SMALL["native_tools"]},
    "claude-*-4-6*": {**_SAMPLES, "reasoning_effort": ("low", "medium", "high", "max")},
    "claude-fable-*": _ALWAYS_THINKS,
    "claude-mythos-*": _ALWAYS_THINKS,
    "claude-fable-5-1*": {"forced_tools": False},
    "claude-fable-5-2*": {"forced_tools": False},
    "claude-mythos-5-1*": {"forced_tools": False},
    "claude-mythos-5-2*": {"forced_tools": False},
    "claude-opus-5-5*": {**_ALWAYS_THINKS, "forced_tools": False},
    "claude-sonnet-5-5*": {"no_reasoning": {"thinking": {"type": "between_tools"}}, "forced_tools": False},
}

# "Preserved thinking": these refuse thinking whose conversation was changed since, unless a parameter makes them drop
# it.
_BINDS_THINKING: Rows = {
    f"claude-{name}*": {"drops_stale_thinking": True}
    for name in ("fable-5-1", "fable-5-2", "mythos-5-1", "mythos-5-2", "opus-5-5", "sonnet-5-5", "haiku-5-5")
}

KNOWN: Mapping[tuple[str, ...], Rows] = {
    ("openai", "azure-openai"): _OPENAI,
    ("mistral", "azure-mistral"): _MISTRAL,
    ("grok", "azure-grok"): _GROK,
    ("deepseek",): _DEEPSEEK,
    ("gemini",): _GEMINI,
    ("anthropic", "azure-anthropic"): _CLAUDE,
    ("anthropic",): _BINDS_THINKING,
}
