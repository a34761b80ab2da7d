"""What is given, checked once: labels of axes, cells of attributes, rows and the confusion tensor."""
