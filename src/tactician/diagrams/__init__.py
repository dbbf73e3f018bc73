"""Diagrams of agents, plans and runs: as Mermaid text, as SVG, and as HTML in a notebook."""
