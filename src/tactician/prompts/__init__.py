"""What models are told: templates of instructions."""

from tactician.prompts.variables import rendered, variables_of

__all__ = ["variables_of", "rendered"]
