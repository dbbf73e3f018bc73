"""Prompts: templates of instructions, and their sources."""

from tactician.prompts.contributors import (
    CurrentDate,
    KnowledgeCutoff,
    Persona,
    Place,
    PromptContributor,
    RoleGoalBackstory,
    check_contributor,
)
from tactician.prompts.folder import FolderPrompts
from tactician.prompts.langfuse import LangfusePrompts
from tactician.prompts.providers import PromptProvider, PromptProviders, prompt_providers
from tactician.prompts.reference_files import ReferenceKind, load_references
from tactician.prompts.references import LlmReference, Reference
from tactician.prompts.sources import InstructionFile, InstructionSource, InstructionTemplate, ProvidedInstructions
from tactician.prompts.templates import Templates, load_default_templates, render_template
from tactician.prompts.variables import find_variables, render_variables

__all__ = [
    "find_variables",
    "render_variables",
    "InstructionSource",
    "InstructionFile",
    "InstructionTemplate",
    "ProvidedInstructions",
    "PromptProvider",
    "PromptProviders",
    "prompt_providers",
    "FolderPrompts",
    "LangfusePrompts",
    "PromptContributor",
    "check_contributor",
    "Place",
    "Persona",
    "RoleGoalBackstory",
    "CurrentDate",
    "KnowledgeCutoff",
    "LlmReference",
    "Reference",
    "ReferenceKind",
    "load_references",
    "Templates",
    "load_default_templates",
    "render_template",
]
