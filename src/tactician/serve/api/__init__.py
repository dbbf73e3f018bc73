"""HTTP API of a platform: REST and server-sent events, with an OpenAPI document."""
