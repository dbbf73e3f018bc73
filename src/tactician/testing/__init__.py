"""Testing agents without a model: scripts and fakes."""

from tactician.testing.clock import FakeClock
from tactician.testing.fakes import FakeContext
from tactician.testing.scripted import ScriptedModel, ScriptError, Step, ToolCall, When

__all__ = ["ScriptedModel", "ToolCall", "Step", "When", "ScriptError", "FakeContext", "FakeClock"]
