"""The checks of a spec on rows of outputs: with a judge at hand, on several workers, or as functions."""
