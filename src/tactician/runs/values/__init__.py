"""Values as JSON: what is written reads back equal, or is refused."""
