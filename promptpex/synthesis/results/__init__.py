"""What every candidate says of every example, and which candidates imply which (SPADE, sections 4.1 and 4.4)."""
