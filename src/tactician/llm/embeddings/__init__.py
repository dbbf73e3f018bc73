"""Embeddings: vectors of texts, close to each other where the texts have similar meanings."""
