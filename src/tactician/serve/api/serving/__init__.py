"""The server behind its endpoints: guard, limits, streams, and operations with their forms."""
