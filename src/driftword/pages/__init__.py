"""What readers see: the content of each page, its figures and templates, and the offline report."""
