"""Column generation, the certified default: columns, master problem, pricing."""
