"""What models are told: templates of instructions, and where instructions come from."""

from tactician.prompts.folder import FolderPrompts
from tactician.prompts.langfuse import LangfusePrompts
from tactician.prompts.providers import PromptProvider, PromptProviders, prompt_providers
from tactician.prompts.sources import InstructionFile, InstructionSource, ProvidedInstructions
from tactician.prompts.variables import rendered, variables_of

__all__ = [
    "variables_of",
    "rendered",
    "InstructionSource",
    "InstructionFile",
    "ProvidedInstructions",
    "PromptProvider",
    "PromptProviders",
    "prompt_providers",
    "FolderPrompts",
    "LangfusePrompts",
]
