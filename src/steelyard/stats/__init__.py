"""Statistics of numbers: intervals, significance tests, power, agreement, pooling and corrections for judges."""
