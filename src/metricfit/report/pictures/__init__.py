"""The pictures, a display in scikit-learn's manner each, and what they share: axes and a style."""
