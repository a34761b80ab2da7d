"""What makes tuned decisions hold on new rows: probabilities from models that did not see the row."""
