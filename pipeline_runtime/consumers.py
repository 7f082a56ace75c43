"""`python -m pipeline_runtime.consumers <proposal.yml> <path…>`: the producer's check, as its build runs it."""

import sys

from pipeline_runtime.cli import main

if __name__ == "__main__":
    sys.exit(main(["consumers", *sys.argv[1:]]))
