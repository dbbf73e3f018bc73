"""Rules in planning: automata that read a run, and actions that carry their states."""
