"""The local page: runs, reports and grading in a browser, for the person at this machine alone."""
