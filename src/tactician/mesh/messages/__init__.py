"""Messages of a mesh: CloudEvents 1.0 in structured JSON, bounded, versioned and signed."""
