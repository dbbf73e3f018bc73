"""Files of a workspace: text as models read and edit it."""
