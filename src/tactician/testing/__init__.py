"""Testing agents without a model: scripts and fakes."""

from tactician.testing.clock import FakeClock
from tactician.testing.fakes import FakeContext
from tactician.testing.scripted import ScriptedModel, ScriptError, ToolCall

__all__ = ["FakeClock", "FakeContext", "ScriptError", "ScriptedModel", "ToolCall"]
