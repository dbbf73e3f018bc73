"""Code mode: scripts of models that call many tools in a single turn, in a sandbox."""

from tactician.code_mode.code_tool import CodeTool
from tactician.code_mode.limits import CodeLimits

__all__ = ["CodeTool", "CodeLimits"]
