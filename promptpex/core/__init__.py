"""What everything rests on: records, errors, events, ids, stage templates, and limits on foreign templates."""
