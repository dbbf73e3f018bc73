"""Groups of tasks in the place of a single task: loops, graphs and map-reduces."""
