"""From a class with declared methods to what a process runs."""
