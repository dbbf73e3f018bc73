"""What calls to other programs share: rate limits, pauses between attempts, and circuit breakers."""
