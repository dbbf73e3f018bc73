"""Prompts: templates of instructions, and their sources."""

from typing import TYPE_CHECKING

from tactician.late_names import export_late

if TYPE_CHECKING:
    from tactician.prompts.contributors import CurrentDate as CurrentDate
    from tactician.prompts.contributors import KnowledgeCutoff as KnowledgeCutoff
    from tactician.prompts.contributors import Persona as Persona
    from tactician.prompts.contributors import Place as Place
    from tactician.prompts.contributors import PromptContributor as PromptContributor
    from tactician.prompts.contributors import RoleGoalBackstory as RoleGoalBackstory
    from tactician.prompts.contributors import check_contributor as check_contributor
    from tactician.prompts.folder import FolderPrompts as FolderPrompts
    from tactician.prompts.langfuse import LangfusePrompts as LangfusePrompts
    from tactician.prompts.providers import PromptProvider as PromptProvider
    from tactician.prompts.providers import PromptProviders as PromptProviders
    from tactician.prompts.providers import prompt_providers as prompt_providers
    from tactician.prompts.reference_files import ReferenceKind as ReferenceKind
    from tactician.prompts.reference_files import load_references as load_references
    from tactician.prompts.references import LlmReference as LlmReference
    from tactician.prompts.references import Reference as Reference
    from tactician.prompts.sources import InstructionFile as InstructionFile
    from tactician.prompts.sources import InstructionSource as InstructionSource
    from tactician.prompts.sources import InstructionTemplate as InstructionTemplate
    from tactician.prompts.sources import ProvidedInstructions as ProvidedInstructions
    from tactician.prompts.templates import Templates as Templates
    from tactician.prompts.templates import load_default_templates as load_default_templates
    from tactician.prompts.templates import render_template as render_template
    from tactician.prompts.variables import find_variables as find_variables
    from tactician.prompts.variables import render_variables as render_variables
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.prompts.contributors": (
                "CurrentDate KnowledgeCutoff Persona Place PromptContributor RoleGoalBackstory check_contributor"
            ),
            "tactician.prompts.folder": "FolderPrompts",
            "tactician.prompts.langfuse": "LangfusePrompts",
            "tactician.prompts.providers": "PromptProvider PromptProviders prompt_providers",
            "tactician.prompts.reference_files": "ReferenceKind load_references",
            "tactician.prompts.references": "LlmReference Reference",
            "tactician.prompts.sources": "InstructionFile InstructionSource InstructionTemplate ProvidedInstructions",
            "tactician.prompts.templates": "Templates load_default_templates render_template",
            "tactician.prompts.variables": "find_variables render_variables",
        },
    )
