"""The numbers by which plans name aggregates and kernels tell them apart.

Rule: this module loads nothing, so that a program can be written without the engine; a number keeps its meaning.
"""

COUNT_ROWS, COUNT_VALUES, SUM, AVG, MIN, MAX, COUNT_DISTINCT = 0, 1, 2, 3, 4, 5, 6
QUANTILE, QUANTILE_OF_VALUES, MODE, PRODUCT, BITS_AND, BITS_OR, BITS_XOR, MAX_BY, MIN_BY = range(7, 16)
NONE = -1  # of an aggregate that no kernel computes
