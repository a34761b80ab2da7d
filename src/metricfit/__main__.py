"""``python -m metricfit`` is the command ``metricfit``."""

import sys

from metricfit.cli import main

if __name__ == "__main__":
    sys.exit(main())
