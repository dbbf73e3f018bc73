"""What Tactician costs, next to raw aiohttp, its peers and two planners: `python -m benchmarks`."""
