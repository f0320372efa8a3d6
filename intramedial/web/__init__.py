"""What all pages share: errors, static files, other forms of a page, the admin site."""
