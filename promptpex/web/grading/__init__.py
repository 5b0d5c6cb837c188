"""What the grading page is told and shown: outputs and rules, progress, grades on their way, the page as a file."""
