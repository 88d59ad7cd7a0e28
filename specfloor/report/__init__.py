"""What people read: tables, paragraphs, files."""
