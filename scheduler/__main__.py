"""`python -m pyroclast.scheduler`: the command line, for a checkout that is not installed."""

import sys

from pyroclast.scheduler.cli.main import main

sys.exit(main())
