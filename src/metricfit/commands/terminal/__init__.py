"""What a person sees: tables and sentences, JSON for scripts, and what Ctrl-C does."""
