"""Sorting: rows sorted by a method that fits how nearly sorted they are, and equal rows summed by hash.

The rows of a step come grouped by time. Sorting within each time compares rows that are near each other in memory and
costs a few nanoseconds per row; sorting all rows at once does not. Summing equal rows needs a hash table and no order.

Rule: rows are ordered by their key columns, the most significant first; the sort is stable.
"""

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H, load_lane

SPREAD = -7046029254386353131  # odd, and without a pattern: the golden ratio of 2**64, as a signed word

AT_ONCE = 4096  # rows that are looked at before what was found is
SHORT = 12  # rows that are sorted by insertion, before runs are merged
A_FEW_FALLS = 2  # of a first key, up to which merging is the quickest
MOST_FALLS = 64  # the same, up to which many rows are merged here if they cannot be sorted by digits
NOT_MANY = 4096  # rows that are merged in any case: numpy's faster sort has not begun by then
DIGIT, DIGITS = 11, 1 << 11  # bits that are sorted by at once
WORD_BITS = 62
STANDS, WRITTEN, MIXED = 0, 1, 2  # what became of rows that were to be put in order


@inline
def follows(rows, moments, i, j):
    """Whether row i comes after row j, by its moment, if there are any, and then by its lanes."""
    if moments.shape[0] and moments[i] != moments[j]:
        return moments[i] > moments[j]
    k = 0
    while k < rows.shape[0] and rows[k, i] == rows[k, j]:
        k += 1
    return k < rows.shape[0] and rows[k, i] > rows[k, j]


@kernel
def merge(rows, moments, words, ids, a, middle, b):
    """Merge two neighbouring runs of sorted rows.

    needs:  words in order from a to middle and from middle to b; ids: room.
    leaves: words in order from a to b.
    """
    if not follows(rows, moments, words[middle - 1], words[middle]):
        return
    low, high = a, middle - 1  # what comes before all of the second run stays: mostly nearly all of the first
    while low < high:
        half = (low + high) // 2
        if follows(rows, moments, words[half], words[middle]):
            high = half
        else:
            low = half + 1
    for i in range(low, middle):
        ids[i] = words[i]
    left, right, at = low, middle, low
    while left < middle:
        if right < b and follows(rows, moments, ids[left], words[right]):
            words[at] = words[right]
            right += 1
        else:
            words[at] = ids[left]
            left += 1
        at += 1


@kernel
def sort_run(rows, moments, words, ids, start, end):
    """Sort the rows from start to end.

    needs:  words: a permutation that maps start..end onto itself; ids: room.
    leaves: words in order between start and end.
    """
    a = start
    while a < end:
        b = min(a + SHORT, end)
        for i in range(a + 1, b):
            row = words[i]
            j = i
            while j > a and follows(rows, moments, words[j - 1], row):
                words[j] = words[j - 1]
                j -= 1
            words[j] = row
        a = b
    width = SHORT
    while width < end - start:
        a = start
        while a + width < end:
            merge(rows, moments, words, ids, a, a + width, min(a + 2 * width, end))
            a += 2 * width
        width *= 2


@kernel
def sort_nearly(rows, moments, words, ids):
    """The permutation that sorts rows whose moments, if they have any, fall a few times only.

    needs:  rows: int64[lanes, n]; moments: a first key of each, or nothing; words: 0 to n - 1; ids: room for n.
    leaves: words: the numbers of the rows in order; ids: overwritten.
    """
    n = words.shape[0]
    if moments.shape[0] == 0:
        sort_run(rows, moments, words, ids, 0, n)
        return
    of_one = moments[:0]  # within a moment lanes decide
    begins = 0  # of the rows whose moments do not fall; those before it are in order
    start = 0
    while start < n:
        end = start + 1
        while end < n and moments[end] == moments[start]:
            end += 1
        sort_run(rows, of_one, words, ids, start, end)
        if end == n or moments[end] < moments[start]:
            if begins:
                merge(rows, moments, words, ids, 0, begins, end)
            begins = end
        start = end


@kernel
def count_falls(rows, moments):
    """How often the first key falls, or -1 where the rows stand in order already.

    needs:  rows and moments as `sort_nearly` does.
    """
    n = rows.shape[1]
    falls = 0
    for i in range(1, moments.shape[0]):
        falls += moments[i] < moments[i - 1]
    if falls:
        return falls
    i = 1
    while i < n and not follows(rows, moments, i - 1, i):
        i += 1
    if i >= n:
        return -1
    if moments.shape[0] == 0:
        while i < n:
            falls += follows(rows, moments, i - 1, i)
            i += 1
    return falls


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

    needs:  words: n numbers, none negative, then room for n; ids: room for 2 n, and DIGITS for counting.
    leaves: ids: the places that the numbers in order had; words: overwritten.
    """
    n = words.shape[0] // 2
    for i in range(n):
        ids[i] = i
    at = 0  # where the numbers stand: in the first half or in the second
    shift = 0
    while shift < bits:
        counts = ids[2 * n :]
        for d in range(DIGITS):
            counts[d] = 0
        for i in range(at, at + n):
            counts[(words[i] >> shift) & (DIGITS - 1)] += 1
        total = n - at
        for d in range(DIGITS):
            total += counts[d]
            counts[d] = total - counts[d]
        for i in range(at, at + n):
            d = (words[i] >> shift) & (DIGITS - 1)
            to = counts[d]
            counts[d] = to + 1
            words[to] = words[i]
            ids[to] = ids[i]
        at = n - at
        shift += DIGIT
    if at:
        for i in range(n):
            ids[i] = ids[n + i]


@kernel
def sort_by_digits(rows, moments, words, ids):
    """The permutation that sorts rows, if their keys fit one word together.  Returns whether they do.

    needs:  rows and moments as `sort_nearly` does; words: room for 2 n + 1; ids: room for 2 n, and DIGITS for counting.
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


@kernel
def put_in_order(rows, moments, words, out, ids):
    """Rows, their moments, if they have any, and their diffs in the order of the moments and then of the lanes.

    needs:  rows: int64[lanes, n]; moments: n of them, or none; words: n diffs; out: int64[lanes + 1, n], or one more
            where there are moments; ids: room for 4 n + 1, and DIGITS for counting.
    leaves: STANDS if they are in order already, MIXED if there is no quick way; or WRITTEN, and then in out the lanes,
            the moments and the diffs of the rows in order.
    """
    n = rows.shape[1]
    falls = count_falls(rows, moments)
    if falls < 0:
        return STANDS
    order = ids[2 * n + 1 :]
    if falls <= A_FEW_FALLS or not sort_by_digits(rows, moments, ids[: 2 * n + 1], order):
        if falls > MOST_FALLS and n > NOT_MANY:
            return MIXED
        order = ids[:n]
        for i in range(n):
            order[i] = i
        if falls <= A_FEW_FALLS:
            sort_nearly(rows, moments, order, ids[n:])
        else:
            sort_run(rows, moments, order, ids[n:], 0, n)
    last = out.shape[0] - 1
    for k in range(rows.shape[0]):
        for i in range(n):
            out[k, i] = rows[k, order[i]]
    if moments.shape[0]:
        for i in range(n):
            out[last - 1, i] = moments[order[i]]
    for i in range(n):
        out[last, i] = words[order[i]]
    return WRITTEN


@kernel
def sum_rows(rows, words, ids):
    """Add up the diffs of equal rows.

    needs:  rows: int64[lanes, n]; words: their diffs; ids: zeros, more than n of them, a power of two.
    leaves: words: at the first of equal rows their sum, and 0 at the others; ids: overwritten.
    """
    mask = ids.shape[0] - 1
    for i in range(rows.shape[1]):
        h = 0
        for k in range(rows.shape[0]):
            h = (h ^ rows[k, i]) * SPREAD
            h ^= h >> 29
        slot = h & mask
        while ids[slot] != 0:
            j = ids[slot] - 1
            k = 0
            while k < rows.shape[0] and rows[k, i] == rows[k, j]:
                k += 1
            if k == rows.shape[0]:
                words[j] += words[i]
                words[i] = 0
                break
            slot = (slot + 1) & mask
        if ids[slot] == 0:
            ids[slot] = i + 1


@kernel
def are_sorted(offsets, n):
    """Whether n rows stand in order already.

    needs:  offsets: where each lane begins, the most significant first.
    leaves: whether no row comes before the one in front of it.
    """
    lanes = offsets.shape[0]
    if lanes == 0:
        return True
    first = offsets[0]
    second = offsets[min(1, lanes - 1)]
    last = offsets[lanes - 1]
    start = 1
    while lanes <= 3 and start < n:  # no branches: the compiler takes several rows at once
        end = min(start + AT_ONCE, n)
        falls = False
        for i in range(start, end):
            a = load_lane(first + i)
            was_a = load_lane(first + i - 1)
            b = load_lane(second + i)
            was_b = load_lane(second + i - 1)
            less = load_lane(last + i) < load_lane(last + i - 1)
            less = (b < was_b) | ((b == was_b) & less)
            less = (a < was_a) | ((a == was_a) & less)
            falls |= less
        if falls:
            return False
        start = end
    for i in range(start, n):
        k = 0
        while k < lanes and H[offsets[k] + i] == H[offsets[k] + i - 1]:
            k += 1
        if k < lanes and H[offsets[k] + i] < H[offsets[k] + i - 1]:
            return False
    return True


@kernel
def tell_apart(words, ids):
    """The distinct words among words that never fall, in ids.  Returns how many, or -1 if some fall.

    needs:  one word at least; ids: as many as words.
    """
    last = words[0]
    ids[0] = last
    n = 1
    falls = 0
    for i in range(1, words.shape[0]):
        word = words[i]
        if word < last:
            falls = 1
        n += 1 if word != last else 0
        ids[n - 1] = word
        last = word
    return -1 if falls else n


@inline
def sift_rows(offsets, words, rows, out, ids, start, lanes):
    """What `sift` does, for so many lanes; the first and the last of them are read once."""
    count = ids[0]
    shift = ids[1]
    mask = rows.shape[0] - 1
    first = offsets[0]
    last = offsets[lanes - 1]
    for i in range(start, words.shape[0]):
        a = H[first + i]
        b = H[last + i]
        h = a * SPREAD
        for k in range(1, lanes - 1):
            h = (h ^ H[offsets[k] + i]) * SPREAD
        slot = (((h ^ b) * SPREAD) >> shift) & mask
        other = (a ^ rows[slot, 0]) | (b ^ rows[slot, lanes - 1])
        for k in range(1, lanes - 1):
            other |= H[offsets[k] + i] ^ rows[slot, k]
        was = rows[slot, lanes]
        gone = was & ((other | -other) >> 63)  # 0 if the row is the same: no branch, nobody could foretell it
        if gone:
            if count == out.shape[1]:
                ids[0] = count
                return i
            for k in range(lanes + 1):
                out[k, count] = rows[slot, k]
            count += 1
        rows[slot, 0] = a
        for k in range(1, lanes - 1):
            rows[slot, k] = H[offsets[k] + i]
        rows[slot, lanes - 1] = b
        rows[slot, lanes] = words[i] + was - gone
    ids[0] = count
    return words.shape[0]


@kernel
def sift(offsets, words, rows, out, ids, start):
    """Add up rows that are equal and come soon after each other, from `start` on; most of them cancel.

    needs:  offsets: where each lane begins, at least one; words: the rows' diffs; rows: int64[a power of two, lanes +
            1], the last row for each of so many hashes and the sum of its diffs, zeros at first; out: int64[lanes + 1,
            room]; ids: how many rows out has, and how many bits of a word are not of a hash.
    leaves: in rows and out together, what the rows add up to; the row for which there was no room, or n.
    """
    if offsets.shape[0] == 2:
        return sift_rows(offsets, words, rows, out, ids, start, 2)
    return sift_rows(offsets, words, rows, out, ids, start, offsets.shape[0])


@kernel
def add_up(offsets, words, out, ids, start):
    """Add the rows from `start` on to those that are in a table.

    needs:  offsets: where each lane begins; words: the rows' diffs; out: int64[lanes + 1, room], the rows of the table
            and their diffs; ids: how many those are, then slots, zeros at first, a power of two and more than the room.
    leaves: each row once in out; the row for which there was no room, or n.
    """
    lanes = offsets.shape[0]
    mask = ids.shape[0] - 2
    count = ids[0]
    for i in range(start, words.shape[0]):
        h = 0
        for k in range(lanes):
            h = (h ^ H[offsets[k] + i]) * SPREAD
            h ^= h >> 29
        slot = h & mask
        while True:
            j = ids[1 + slot] - 1
            if j < 0:
                if count == out.shape[1]:
                    ids[0] = count
                    return i
                for k in range(lanes):
                    out[k, count] = H[offsets[k] + i]
                out[lanes, count] = words[i]
                count += 1
                ids[1 + slot] = count
                break
            k = 0
            while k < lanes and H[offsets[k] + i] == out[k, j]:
                k += 1
            if k == lanes:
                out[lanes, j] += words[i]
                break
            slot = (slot + 1) & mask
    ids[0] = count
    return words.shape[0]
