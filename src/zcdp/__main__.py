"""`python -m zcdp` runs the command `zcdp`."""

import sys

from zcdp.cli import main

if __name__ == "__main__":
    sys.exit(main())
