"""Watching a policy batch after batch: bets that prove, at any time, that it does not do what was promised."""
