"""What to expect of tuned decisions on new rows, and constraints that hold there with a stated confidence."""
