"""Sorting: rows sorted by a method that fits how nearly sorted they are, and equal rows summed by hash.

The rows of a step come grouped by time. Sorting within each time compares rows that are near each other in memory and
costs a few nanoseconds per row; sorting all rows at once does not. Summing equal rows needs a hash table and no order.

Rule: rows are ordered by their key columns, the most significant first; the sort is stable.
"""

from ebbflow.columns.digit_sort import sort_by_digits
from ebbflow.native.kernel import inline, kernel

AT_ONCE = 4096  # rows that are looked at before what was found is
SHORT_RUN = 12  # rows that are sorted by insertion, before runs are merged
A_FEW_FALLS = 2  # of a first key, up to which merging is the quickest
MOST_FALLS = 64  # the same, up to which many rows are merged here if they cannot be sorted by digits
NOT_MANY = 4096  # rows that are merged in any case: numpy's faster sort has not begun by then
STANDS, SORTED, MIXED = 0, 1, 2  # what became of rows that were to be put in order


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
        b = min(a + SHORT_RUN, end)
        for i in range(a + 1, b):
            row = words[i]
            j = i
            while j > a and follows(rows, moments, words[j - 1], row):
                words[j] = words[j - 1]
                j -= 1
            words[j] = row
        a = b
    width = SHORT_RUN
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


@kernel
def has_long_moment(moments):
    """Whether more rows than NOT_MANY stand side by side in one moment, so that merging them takes many passes."""
    start = 0
    for i in range(moments.shape[0]):
        if moments[i] != moments[start]:
            start = i
        if i - start >= NOT_MANY:
            return True
    return False


@kernel
def put_in_order(rows, moments, words, out, ids):
    """Rows, their moments, if they have any, and their diffs in the order of the moments and then of the lanes.

    needs:  rows: int64[lanes, n]; moments: n of them, or none; words: n diffs; out: int64[lanes + 1, n], or one more
            where there are moments; ids: room for 4 n + 1, and DIGIT_VALUES for counting.
    leaves: STANDS if they are in order already, MIXED if there is no quick way; or SORTED, and then in out the lanes,
            the moments and the diffs of the rows in order.
    """
    n = rows.shape[1]
    falls = count_falls(rows, moments)
    if falls < 0:
        return STANDS
    order = ids[2 * n + 1 :]
    is_near = falls <= A_FEW_FALLS and not has_long_moment(moments)
    if is_near or not sort_by_digits(rows, moments, ids[: 2 * n + 1], order):
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
    return SORTED
