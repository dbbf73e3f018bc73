"""The time that a router goes by."""

from tactician.clock import SYSTEM_CLOCK, Clock, SystemClock, Timer

__all__ = ["SYSTEM_CLOCK", "Clock", "SystemClock", "Timer"]
