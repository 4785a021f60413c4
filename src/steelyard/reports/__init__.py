"""Reports of scores, and the comparisons, gates and failure analyses made from them."""
