"""Commands of a project in its workspace, and the results of its tests."""
