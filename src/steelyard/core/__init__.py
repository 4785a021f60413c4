"""Records, errors and requests that every room shares."""
