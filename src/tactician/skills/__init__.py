"""Agent skills: folders with instructions that a model loads when it needs them."""

from tactician.skills.sandbox import ScriptLimits, is_sandbox_available
from tactician.skills.skills import Skills

__all__ = ["ScriptLimits", "Skills", "is_sandbox_available"]
