"""JSON, YAML and TOML as bounded data: line numbers, `${VARIABLES}`, spelling suggestions, and mistakes all at once."""
