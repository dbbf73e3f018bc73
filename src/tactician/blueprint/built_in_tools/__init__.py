"""Built-in tools in blueprints, with their settings, and pipelines of tools."""
