"""Traces: the tree of all that a run did, made from its events, and its exports."""

from tactician.trace.capture import CaptureMode, Recorder
from tactician.trace.node import ModelUse, TraceNode, TraceNote, TracePause
from tactician.trace.trace import Trace

__all__ = ["Trace", "TraceNode", "TraceNote", "TracePause", "ModelUse", "CaptureMode", "Recorder"]
