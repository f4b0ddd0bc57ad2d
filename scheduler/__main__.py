"""`python -m scheduler`: the command line, for a checkout that is not installed."""

import sys

from scheduler.cli import main

sys.exit(main())
