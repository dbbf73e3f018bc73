"""Workspaces: folders in which coding agents work, apart from the work of people."""
