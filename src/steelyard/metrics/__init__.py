"""Every metric, and the registry that finds them."""
