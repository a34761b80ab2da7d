"""Direct search on counted labels, weight by weight."""
