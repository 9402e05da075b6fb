"""Equal rows summed by hash, whole or by the lanes that are asked for.

Rule: every row is in one sum, and rows of two sums differ.
"""

from ebbflow.columns.sorting import AT_ONCE
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H, load_lane

HASH_FACTOR = -7046029254386353131  # odd, and without a pattern: the golden ratio of 2**64, as a signed word


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
            h = (h ^ rows[k, i]) * HASH_FACTOR
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
        h = a * HASH_FACTOR
        for k in range(1, lanes - 1):
            h = (h ^ H[offsets[k] + i]) * HASH_FACTOR
        slot = (((h ^ b) * HASH_FACTOR) >> shift) & mask
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
            h = (h ^ H[offsets[k] + i]) * HASH_FACTOR
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
