"""What all pages share: errors, static files, Markdown, formats of numbers, the admin site."""
