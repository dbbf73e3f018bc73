"""The shell: a session with agents in the terminal."""
