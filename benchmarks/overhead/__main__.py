"""`python -m benchmarks.overhead`: see `benchmarks.overhead.cli`."""

import sys

from benchmarks.overhead.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
