"""Agent skills: folders with instructions that a model loads when it needs them."""

from tactician.skills.loading import find_skill_folders, load_skills
from tactician.skills.rules import check_skill
from tactician.skills.sandbox import ScriptLimits, is_sandbox_available
from tactician.skills.scripts import ScriptMode, ScriptPolicy
from tactician.skills.skill import Skill
from tactician.skills.skills import Skills
from tactician.skills.sources import SkillSource

__all__ = [
    "Skills",
    "Skill",
    "SkillSource",
    "ScriptMode",
    "ScriptLimits",
    "ScriptPolicy",
    "check_skill",
    "find_skill_folders",
    "is_sandbox_available",
    "load_skills",
]
