"""Work on tasks: who does each, the steps of its life in a run, and the order in which tasks run."""
