"""What ``scripts/bench_alignment.py`` measures with: worlds whose truth is known, graders, trials and drawings."""
