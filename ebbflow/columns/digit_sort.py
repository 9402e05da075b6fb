"""Numbers of few bits sorted digit by digit, and rows whose keys fit one word together.

Rule: the sort is stable; rows whose keys have more bits than a word are left to others.
"""

from ebbflow.native.kernel import inline, kernel

DIGIT_BITS, DIGIT_VALUES = 11, 1 << 11  # bits that are sorted by at once
WORD_BITS = 62


@inline
def bits_of(low, high):
    """How many bits tell numbers between these apart; more than a word has if they are too far apart."""
    span = high - low
    bits = 64 if span < 0 else 0
    while span > 0:
        span >>= 1
        bits += 1
    return bits


@kernel
def pack_column(words, ids):
    """Put the numbers of a column behind what was packed before.

    needs:  words: n numbers; ids: n packed ones, then how many bits they have, WORD_BITS at most.
    leaves: the same, or more bits than WORD_BITS and nothing packed, if there is no room for them.
    """
    n = words.shape[0]
    low = words[0]
    high = words[0]
    for i in range(n):
        low = min(low, words[i])
        high = max(high, words[i])
    bits = bits_of(low, high)
    ids[n] += bits
    if ids[n] <= WORD_BITS:
        for i in range(n):
            ids[i] = (ids[i] << bits) | (words[i] - low)


@kernel
def sort_packed(words, ids, bits):
    """Sort numbers of so many bits, digit by digit, the least first.

    needs:  words: n numbers, none negative, then room for n; ids: room for 2 n, and DIGIT_VALUES for counting.
    leaves: ids: the places that the numbers in order had; words: overwritten.
    """
    n = words.shape[0] // 2
    for i in range(n):
        ids[i] = i
    at = 0  # where the numbers stand: in the first half or in the second
    shift = 0
    while shift < bits:
        counts = ids[2 * n :]
        for d in range(DIGIT_VALUES):
            counts[d] = 0
        for i in range(at, at + n):
            counts[(words[i] >> shift) & (DIGIT_VALUES - 1)] += 1
        total = n - at
        for d in range(DIGIT_VALUES):
            total += counts[d]
            counts[d] = total - counts[d]
        for i in range(at, at + n):
            d = (words[i] >> shift) & (DIGIT_VALUES - 1)
            to = counts[d]
            counts[d] = to + 1
            words[to] = words[i]
            ids[to] = ids[i]
        at = n - at
        shift += DIGIT_BITS
    if at:
        for i in range(n):
            ids[i] = ids[n + i]


@kernel
def sort_by_digits(rows, moments, words, ids):
    """The permutation that sorts rows, if their keys fit one word together.  Returns whether they do.

    needs:  rows and moments as `sort_nearly` does; words: room for 2 n + 1; ids: room for 2 n, and DIGIT_VALUES for
            counting.
    leaves: ids: the numbers of the rows in order, or anything if False.
    """
    n = rows.shape[1]
    for i in range(n + 1):
        words[i] = 0
    if moments.shape[0]:
        pack_column(moments, words)
    for k in range(rows.shape[0]):
        if words[n] <= WORD_BITS:
            pack_column(rows[k], words)
    bits = words[n]
    if bits > WORD_BITS:
        return False
    sort_packed(words[: 2 * n], ids, bits)
    return True
