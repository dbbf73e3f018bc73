"""Actions of a process: they run, with attempts, and leave results on the blackboard."""
