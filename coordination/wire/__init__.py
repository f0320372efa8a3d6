"""What clients see: ids, cursors, and the JSON forms of the core's values."""
