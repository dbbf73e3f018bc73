"""The blackboard of a process: its objects, their order, and looks at them."""
