"""Rows put in order where they almost are, and equal rows found without any order.

What a step gives out comes time by time.  Sorting all of it anew compares rows that are far apart in memory; sorting
within each time compares neighbours, and costs a few nanoseconds a row.  To add up equal rows a hash is enough.

Rule: the order is that of the keys, the most significant first; equal rows stay in their order.
"""

from ebbflow.columns.kernel import inline, kernel
from ebbflow.columns.memory import load_lane

SPREAD = -7046029254386353131  # odd, and without a pattern: the golden ratio of 2**64, as a signed word

AT_ONCE = 4096  # rows that are looked at before what was found is
SHORT = 12  # rows that are sorted by insertion, before runs are merged


@inline
def follows(rows, i, j):
    """Whether row i comes after row j, by all keys but the first."""
    k = 1
    while k < rows.shape[0] and rows[k, i] == rows[k, j]:
        k += 1
    return k < rows.shape[0] and rows[k, i] > rows[k, j]


@kernel
def merge(rows, words, ids, a, middle, b):
    """Merge two neighbouring runs of sorted rows.

    needs:  words in order from a to middle and from middle to b; ids: room.
    leaves: words in order from a to b.
    """
    if not follows(rows, words[middle - 1], words[middle]):
        return
    for i in range(a, middle):
        ids[i] = words[i]
    left, right, at = a, middle, a
    while left < middle:
        if right < b and follows(rows, ids[left], words[right]):
            words[at] = words[right]
            right += 1
        else:
            words[at] = ids[left]
            left += 1
        at += 1


@kernel
def sort_run(rows, words, ids, start, end):
    """Sort the rows from start to end by all keys but the first.

    needs:  words: a permutation that maps start..end onto itself; ids: room.
    leaves: words in order between start and end.
    """
    a = start
    while a < end:
        b = min(a + SHORT, end)
        for i in range(a + 1, b):
            row = words[i]
            j = i
            while j > a and follows(rows, words[j - 1], row):
                words[j] = words[j - 1]
                j -= 1
            words[j] = row
        a = b
    width = SHORT
    while width < end - start:
        a = start
        while a + width < end:
            merge(rows, words, ids, a, a + width, min(a + 2 * width, end))
            a += 2 * width
        width *= 2


@kernel
def sort_runs(rows, words, ids):
    """The permutation that sorts rows whose first key is in order already.

    needs:  rows: int64[keys, n], the first one never falling; words: 0 to n - 1; ids: room for n.
    leaves: words: the numbers of the rows in order; ids: overwritten.
    """
    n = rows.shape[1]
    start = 0
    while start < n:
        end = start + 1
        while end < n and rows[0, end] == rows[0, start]:
            end += 1
        sort_run(rows, words, ids, start, end)
        start = end


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
def are_sorted(H, offsets, n):
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
def sift_rows(H, offsets, words, rows, out, ids, start, lanes):
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
def sift(H, offsets, words, rows, out, ids, start):
    """Add up rows that are equal and come soon after each other, from `start` on; most of them cancel.

    needs:  offsets: where each lane begins, at least one; words: the rows' diffs; rows: int64[a power of two, lanes +
            1], the last row for each of so many hashes and the sum of its diffs, zeros at first; out: int64[lanes + 1,
            room]; ids: how many rows out has, and how many bits of a word are not of a hash.
    leaves: in rows and out together, what the rows add up to; the row for which there was no room, or n.
    """
    if offsets.shape[0] == 2:
        return sift_rows(H, offsets, words, rows, out, ids, start, 2)
    return sift_rows(H, offsets, words, rows, out, ids, start, offsets.shape[0])


@kernel
def add_up(H, offsets, words, out, ids, start):
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
