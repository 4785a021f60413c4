"""Records, errors and requests that every other room shares."""
