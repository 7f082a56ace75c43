"""`python -m pipeline_runtime`."""

import sys

from pipeline_runtime.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
