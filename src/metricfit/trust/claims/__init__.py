"""Claims: what a constraint states about means over rows, and the tests of such statements."""
