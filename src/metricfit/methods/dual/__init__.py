"""What the dual methods of the paper need: slack variables, their domain, a feasible start, pruning."""
