"""What commands print, as people read it: histories, selections, choices, report cards; at most 80 columns wide."""
