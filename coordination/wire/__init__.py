"""Values that clients see: ids, cursors, and the JSON forms of what the core decides."""
