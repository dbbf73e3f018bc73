"""What models are told: templates of instructions, and where instructions come from."""

from tactician.prompts.contributors import CurrentDate, Persona, Place, PromptContributor, RoleGoalBackstory
from tactician.prompts.folder import FolderPrompts
from tactician.prompts.langfuse import LangfusePrompts
from tactician.prompts.providers import PromptProvider, PromptProviders, prompt_providers
from tactician.prompts.reference_files import ReferenceKind, references_in
from tactician.prompts.references import LlmReference, Reference
from tactician.prompts.sources import InstructionFile, InstructionSource, ProvidedInstructions
from tactician.prompts.templates import Templates, default_templates, template_text
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
    "PromptContributor",
    "Place",
    "Persona",
    "RoleGoalBackstory",
    "CurrentDate",
    "LlmReference",
    "Reference",
    "ReferenceKind",
    "references_in",
    "Templates",
    "default_templates",
    "template_text",
]
