"""Reports as text, Markdown, LaTeX and HTML: how numbers look, never what they are."""
