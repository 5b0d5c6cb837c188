"""What people read of how assertions do: the report card as words, CSV and histograms, and a choice as tables."""
