"""The systems being weighed: how they are called, and what they give back."""
