"""Reports, comparisons and other results as text, Markdown, LaTeX, CSV, charts and HTML pages."""
