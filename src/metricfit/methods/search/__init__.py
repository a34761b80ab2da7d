"""Direct search on the counts themselves, weight by weight."""
