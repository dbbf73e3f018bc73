"""Tools of coding agents."""
