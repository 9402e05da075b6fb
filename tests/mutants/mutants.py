"""Planted bugs: each a change of a few words to the engine that some test must notice.

Rule: a patch names text that occurs exactly once, so that one that no longer applies fails loudly.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    name: str  # what is wrong in it
    file: str  # inside the package
    old: str
    new: str
    runtime: str | None = None  # where it shows; unless named, in bulk on all the local ones in turn, else on local-1
    claim: str | None = None  # the claim that notices it, where random cases would take too long
    test: str | None = None  # the test that notices it, as pytest names it, where it is no matter of meaning; in COPIED

    def apply(self, package: Path) -> None:
        path = package / self.file
        text = path.read_text()
        found = text.count(self.old)
        if found != 1:
            raise LookupError(f'mutant "{self.name}": its text occurs {found} times in {self.file}, not once')
        path.write_text(text.replace(self.old, self.new))


GROWTH = "tests/algorithms/test_growth.py::test_a_load_is_near_linear_and_a_change_costs_what_it_changes"

WINDOW = "tests/operators/reduce/test_window_changes.py::test_a_change_is_answered_as_if_everything_were_computed"

STEADY = "tests/operators/reduce/test_steady.py::test_what_is_steady_has_one_answer_with_its_changes_and_without"

MUTANTS = [
    Mutant(
        "what a slice takes of a value is not counted against it",
        "operators/reduce/steady.py",
        "                if diff_of(e.stamp) < 0 and same(e.lanes, lanes, nv):\n",
        "                if diff_of(e.stamp) < -99 and same(e.lanes, lanes, nv):\n",
        test=f"{STEADY}[first-1]",
    ),
    Mutant(
        "what later rounds take of a value is not counted against it",
        "operators/reduce/steady.py",
        "            elif d < 0:\n                less += d\n",
        "            elif d < -99:\n                less += d\n",
        test=f"{STEADY}[first-1]",
    ),
    Mutant(
        "a key whose rows may all cancel is called steady",
        "operators/reduce/steady.py",
        "    return not bagged or least_rows(worker, segment, w, rounds) > 0\n",
        "    return True\n",
        test=f"{STEADY}[least-1]",
    ),
    Mutant(
        "a change of a window reaches no row before it",
        "operators/reduce/window_changes.py",
        "    first = gone_left(index, first, window.reach_left)\n",
        "",
        test=f"{WINDOW}[ahead-b]",
    ),
    Mutant(
        "what is before a running sum is forgotten",
        "operators/reduce/window_changes.py",
        "    sums = sums_before(worker, window, index, start, step)\n",
        "    sums = sums_before(worker, window, index, 0, step)\n",
        test=f"{WINDOW}[running rows-b]",
    ),
    Mutant(
        "each turn of a worker begins with full fuel",
        "engine/round_robin.py",
        "            worker = Worker(at[i])\n            reason = walk(worker)\n",
        "            worker = Worker(at[i])\n            worker.fuel = fuel\n            reason = walk(worker)\n",
        test="tests/engine/test_round_robin.py::test_fuel_is_for_all_turns_together_so_that_a_long_loop_comes_back",
    ),
    Mutant(
        "a running total that moves is taken for one that stays",
        "operators/reduce/running_totals.py",
        "        if count != 0 or total != 0:\n",
        "        if count > 99:\n",
        test=f"{WINDOW}[running rows-b]",
    ),
    Mutant(
        "peers in front of a changed row are left as they were",
        "operators/reduce/window_changes.py",
        "        first = peers_left(worker, window, index, first, low)\n",
        "",
        test=f"{WINDOW}[peers-b]",
    ),
    Mutant(
        "shares of a partition that grows are left as they were",
        "operators/reduce/window_changes.py",
        "if net != 0 and window.by_total:",
        "if net > 99 and window.by_total:",
        test=f"{WINDOW}[shares-b]",
    ),
    Mutant(
        "an index stays as a refused step left it",
        "engine/undo.py",
        "    undo_indexes(worker)\n",
        "",
        test="tests/operators/reduce/test_window_changes.py::test_a_refused_step_leaves_an_index_as_it_was[4]",
    ),
    Mutant(
        "what a later slice folds into an index of entries is not written down",
        "trace/entry_index.py",
        "        if not is_first and worker.saves_segments:\n",
        "        if is_first and worker.saves_segments:\n",
        test="tests/trace/test_entry_index.py::test_an_advance_of_several_slices_is_undone",
    ),
    Mutant(
        "a join does not read the last chunk of an index",
        "operators/join/product_rule.py",
        "    chunks = index.chunks if index else 0\n",
        "    chunks = index.chunks - 1 if index else 0\n",
        test="tests/operators/test_hubs.py::test_an_index_shows_at_every_time_what_looking_through_shows[join]",
    ),
    Mutant(
        "nulls are among the values of a quantile",
        "operators/reduce/order_statistics.py",
        "    before = max(nulls, 0)\n",
        "    before = 0\n",
        test="tests/operators/reduce/test_order_statistics.py::test_an_answer_from_the_index_is_that_of_looking_at_all[many]",
    ),
    Mutant(
        "a large key is kept in one piece",
        "trace/entry_index.py",
        "        if not is_first or segment.old < max(worker.index_entries, 1):\n",
        "        if segment.old < (1 << 60):\n",
        test="tests/operators/test_hubs.py::test_one_change_of_a_key_with_many_values_looks_at_few_of_them[join]",
    ),
    Mutant(
        "only pairs of times are joined",
        "operators/reduce/replay.py",
        """            interesting = True
        for at in range(0, worker.seeds.length, c):
            if interesting:
                break
            interesting = times_precede(worker.seeds.pointer + at, now, c)
        meet_with(worker, node, record, rounds, worker.seeds, 0, c, now, serial)
        if interesting:
            meet_with(worker, node, record, rounds, worker.stored_in, HEAD, row, now, serial)
            meet_with(worker, node, record, rounds, worker.stored_out, HEAD, row, now, serial)
""",
        """            interesting = 2
        for at in range(0, worker.seeds.length, c):
            if interesting:
                break
            interesting = times_precede(worker.seeds.pointer + at, now, c)
        if interesting != 2:
            meet_with(worker, node, record, rounds, worker.seeds, 0, c, now, serial)
        if interesting and interesting != 2:
            meet_with(worker, node, record, rounds, worker.stored_in, HEAD, row, now, serial)
        if interesting:
""",
    ),
    Mutant(
        "owed times are forgotten",
        "operators/reduce/replay.py",
        """    push_word(worker, node.owes, record)
    push_word(worker, node.owes, rounds)
    push_word(worker, node.owes, rank)
""",
        "",
    ),
    Mutant(
        "what is owed is not looked at when it comes due",
        "operators/reduce/replay.py",
        "(IS_NEW if i >= old else 0)",
        "(IS_NEW if i >= old and diff_of(H[e + 1]) else 0)",
    ),
    Mutant(
        "new times do not meet stored input",
        "operators/reduce/replay.py",
        "            meet_with(worker, node, record, rounds, worker.stored_in, HEAD, row, now, serial)\n",
        "",
    ),
    Mutant(
        "a time that seeds only precede is not interesting",
        "operators/reduce/replay.py",
        "            interesting = times_precede(worker.seeds.pointer + at, now, c)\n",
        "            interesting = False\n",
    ),
    Mutant(
        "buffered times are advanced too far",
        "operators/reduce/replay.py",
        "        meet[k] = least\n",
        "        meet[k] = least + 1\n",
    ),
    Mutant(
        "buffered times are advanced past moments to come",
        "operators/reduce/replay.py",
        "            least = min(least, row_of(worker, worker.moments.pointer[i])[k])\n",
        "",
    ),
    Mutant(
        "owed times that are not due yet are dropped",
        "engine/feed.py",
        """            p = reserve(worker, v, v.length + 3) + v.length
            p[0] = record
            p[1] = side[at + 1]
            p[2] = side[at + 2]
            v.length += 3
""",
        "            v.length += 0\n",
    ),
    Mutant(
        "moments are visited in no order",
        "operators/reduce/times_to_visit.py",
        "        if not rank_before(worker, rank, p[up]):\n",
        "        if up >= 0:\n",
    ),
    Mutant(
        "compaction goes one step too far",
        "trace/clock.py",
        "            least = min(least, max(p[k], f[i + k]))\n",
        "            least = max(least, max(p[k], f[i + k]))\n",
    ),
    Mutant(
        "compaction advances past the frontier",
        "trace/clock.py",
        "        s[k] = least\n",
        "        s[k] = least + 1\n",
    ),
    Mutant(
        "a frontier is off by one: what is at it counts as complete",
        "trace/clock.py",
        "            if f[i + k] > p[k]:\n",
        "            if f[i + k] >= p[k]:\n",
    ),
    Mutant(
        "rows at the frontier are taken too early",
        "runtime/local.py",
        "            complete = lattice.told_once(times)[:, 0] < upper[0][0]\n",
        "            complete = lattice.told_once(times)[:, 0] <= upper[0][0]\n",
    ),
    Mutant(
        "an exchange goes to the wrong shard",
        "operators/exchange/outbox.py",
        "    h = 0\n",
        "    h = worker.me\n",
        "local-3",
    ),
    Mutant(
        "rows stay with the worker that made them",
        "operators/edges.py",
        "            if owner != worker.me:\n",
        "            if owner == -1:\n",
        "local-2",
    ),
    Mutant(
        "workers agree on the round of the first of them",
        "operators/exchange/barrier.py",
        "        least = min(least, at[0])\n",
        "        least = max(least, at[0])\n",
        "local-3",
    ),
    Mutant(
        "a pair of updates meets twice",
        "operators/join/product_rule.py",
        "    seen = rounds + 1 if (there < position or (there == position and on_left)) else rounds\n",
        "    seen = rounds + 1\n",
    ),
    Mutant(
        "a pair of updates never meets",
        "operators/join/product_rule.py",
        "    seen = rounds + 1 if (there < position or (there == position and on_left)) else rounds\n",
        "    seen = rounds\n",
    ),
    Mutant(
        "a pair meets at the time of its later arrival only",
        "operators/join/product_rule.py",
        "            t = join_ranks(worker, rank, q[0]) if general else max(rank, q[0])\n",
        "            t = join_ranks(worker, rank, q[0]) if general else q[0]\n",
    ),
    Mutant(
        "a pair meets in the round of its later arrival only",
        "operators/join/product_rule.py",
        "        at = join_rounds(s, rounds, guard, bits)\n",
        "        at = rounds\n",
    ),
    Mutant(
        "long histories are merged without what came before",
        "operators/join/histories.py",
        "        gx.sum = was + a\n",
        "        gx.sum = a\n",
    ),
    Mutant(
        "a retraction is lost",
        "operators/reduce/corrections.py",
        "        if h[i] != copies:\n",
        "        if h[i] < copies:\n",
    ),
    Mutant(
        "rounds that meet later entries are not owed",
        "operators/gather.py",
        "            if k < 0:\n",
        "            if k < 0 and rounds == 0:\n",
    ),
    Mutant(
        "null keys match in joins",
        "operators/join/product_rule.py",
        "        if record.lanes[k] == NULL:\n            return\n",
        "        if record.lanes[k] == NULL:\n            break\n",
    ),
    Mutant(
        "feedback without an increment",
        "operators/edges.py",
        "    rounds = (rounds & edge.mask) + edge.add\n",
        "    rounds = rounds & edge.mask\n",
    ),
    Mutant(
        "a block of rows that goes round stays where it was",
        "operators/pour.py",
        """    rounds = rounds_behind(worker, node, edge, rounds, ranks[0])
    if rounds < 0:
        return
""",
        "    rounds &= edge.mask\n",
        "local-sealed",
    ),
    Mutant(
        "a value that goes takes its neighbour along",
        "trace/folding.py",
        "                copy_words(p + o * w, Words(g), w)\n",
        "",
    ),
    Mutant(
        "rows of a block that belong to another worker stay",
        "operators/exchange/outbox.py",
        """    if kept < n:
        keep_columns(b, bank, lanes, kept)
    return kept
""",
        "    return n\n",
        "local-2",
    ),
    Mutant(
        "a bounded loop runs one round too many",
        "operators/edges.py",
        "        if edge.most >= 0 and ((rounds >> edge.field) & ((1 << worker.bits) - 1)) >= edge.most:\n",
        "        if edge.most >= 0 and ((rounds >> edge.field) & ((1 << worker.bits) - 1)) > edge.most:\n",
    ),
    Mutant(
        "a pending bucket is dropped",
        "operators/node.py",
        """    if b >= 0 and p[b] == rounds:
        return Bucket(p + b)
""",
        """    if b >= 0 and p[b] == rounds:
        p[b + B_ITEMS + LEN] = 0
        return Bucket(p + b)
""",
    ),
    Mutant(
        "distinct keeps what counts zero",
        "operators/reduce/answers.py",
        "        worker.want.length = 1 if total > 0 else 0\n",
        "        worker.want.length = 1 if total >= 0 else 0\n",
    ),
    Mutant(
        "distinct asks for two",
        "operators/reduce/answers.py",
        "        worker.want.length = 1 if total > 0 else 0\n",
        "        worker.want.length = 1 if total > 1 else 0\n",
    ),
    Mutant(
        "a count of zero is an answer",
        "operators/reduce/answers.py",
        "        worker.want.length = n + 1 if total != 0 else 0\n",
        "        worker.want.length = n + 1\n",
    ),
    Mutant(
        "the least value may be one that is gone",
        "operators/reduce/answers.py",
        "            if x != NULL and v[i * step] > 0:\n",
        "            if x != NULL and v[i * step] >= 0:\n",
    ),
    Mutant(
        "top does not cut the copies of its last row",
        "operators/reduce/answers.py",
        "        copies = min(left, at[0])\n",
        "        copies = at[0]\n",
    ),
    Mutant(
        "rows held for a later time are let go",
        "operators/deliver.py",
        """    n = v.length
    if n == 0:
        return
""",
        """    n = v.length
    v.length = 0
    if n >= 0:
        return
""",
    ),
    Mutant(
        "events of one time are not brought into order",
        "operators/gather.py",
        """    events.length = Event.SIZE * zn
    if not in_order:
        sort_events(worker, Event(events.pointer), zn)
    return base
""",
        """    events.length = Event.SIZE * zn
    return base
""",
    ),
    Mutant(
        "folding forgets that entries are of different rounds",
        "trace/folding.py",
        """        g.rounds == e.rounds
        and (g.stamp >> DIFF_BITS) == (e.stamp >> DIFF_BITS)
""",
        "        (g.stamp >> DIFF_BITS) == (e.stamp >> DIFF_BITS)\n",
    ),
    Mutant(
        "a refused step leaves its entries behind",
        "engine/undo.py",
        "                    segment.length = segment.old\n",
        "                    segment.length += 0\n",
        claim="test_a_refused_step_leaves_everything_as_it_was",
    ),
    Mutant(
        "a line is not gone along where an earlier slice left an entry",
        "operators/reduce/presence_by_round.py",
        "        if line.next <= rounds and line.point_count:\n",
        "        if line.next < 0:\n",
        claim="test_reachability_while_short_cuts",
    ),
    Mutant(
        "a line owes no visit at its next entry",
        "operators/reduce/presence_by_round.py",
        "        if line.next != LAST and line.point_count and line.next != before:\n",
        "        if line.next < 0 and line.next != before:\n",
        claim="test_reachability_while_short_cuts",
    ),
    Mutant(
        "times that do not follow each other are taken for a line",
        "operators/reduce/chain_scan.py",
        "        if t != last and last >= 0 and not ranks_precede(worker, last, t):\n",
        "        if t != last and last >= 0 and not t:\n",
    ),
    Mutant(
        "what was said along a line in a loop is kept as its last answer",
        "operators/reduce/chain_scan.py",
        "    if node.depth == 0 and node.readers[1].count == 0 and node.edge_count and is_past(worker, last):\n",
        "    if node.readers[1].count == 0 and node.edge_count and is_past(worker, last):\n",
    ),
    Mutant(
        "any past of a key is taken for one moment",
        "operators/reduce/chain_scan.py",
        "        if rank_of(p[i * w + 1]) + 1 != worker.lowest:\n",
        "        if rank_of(p[i * w + 1]) + 1 == 0:\n",
    ),
    Mutant(
        "times in any order are merged as on a line",
        "operators/join/histories.py",
        "    line = worker.chain_from\n",
        "    line = 0\n",
        claim="test_long_histories_of_one_key_meet_where_both_have_been_seen",
    ),
    Mutant(
        "what a refused advance folded stays folded",
        "trace/append.py",
        "    if keeps and worker.general:\n",
        "    if keeps and worker.general < 0:\n",
        claim="test_a_refused_step_leaves_everything_as_it_was",
    ),
    Mutant(
        "an advance that is cut goes past the cut",
        "engine/host.py",
        "*least[:axis], cut, *least[axis + 1 :]",
        "*least[:axis], cut + 1, *least[axis + 1 :]",
        runtime="local-1-sliced",
    ),
    Mutant(
        "a join that was put off is forgotten where nothing else comes",
        "operators/arrange.py",
        "    if n == 0 and not owed:\n",
        "    if n == 0:\n",
        claim="test_what_one_side_gets_of_a_key_meets_what_the_other_gets_or_has_already",
    ),
    Mutant(
        "a join that was put off tells what was there before once more",
        "operators/join/deferred.py",
        "    merge_histories(worker, join, on_left, key, d, n, w"
        ", rounds, rounds + 1, others, table.widths[family], 0)\n",
        "    merge_histories(worker, join, on_left, key, d, n, w"
        ", rounds, rounds + 1, others, table.widths[family], -1)\n",
        claim="test_what_one_side_gets_of_a_key_meets_what_the_other_gets_or_has_already",
    ),
    Mutant(
        "a visit to rows that wait by round is not counted",
        "engine/walk.py",
        "                    node.visits += 1\n",
        "",
        test="tests/engine/test_node_work.py",
    ),
    Mutant(
        "the work of one worker is told as that of all",
        "engine/host.py",
        "for worker in self.workers for each in worker.work_by_node()",
        "for worker in self.workers[:1] for each in worker.work_by_node()",
        test="tests/engine/test_node_work.py",
    ),
    Mutant(
        "rows do not wait for their round",
        "engine/walk.py",
        "            e[0] += k << node.rounds_field\n",
        "",
        claim="test_rows_that_wait_are_there",
    ),
    Mutant(
        "rows that wait for longer than a loop lasts come all the same",
        "engine/walk.py",
        "        elif most < 0 or k < most:\n",
        "        else:\n",
        claim="test_rows_that_wait_longer",
    ),
    Mutant(
        "rows that waited side by side before there were parts are forgotten",
        "operators/partitions.py",
        "    partition_pending(worker, f, v.pointer, n)\n",
        "",
        runtime="local-sealed",
    ),
    Mutant(
        "what goes is taken for growth",
        "operators/reduce/insert_only.py",
        "        if x[0] != row[0] or x[1] <= 0 or x[1] > WIDE_DIFF:\n",
        "        if x[0] != row[0] or x[1] > WIDE_DIFF:\n",
        runtime="local-bulky",
    ),
    Mutant(
        "a visit that a sealed key owes is forgotten",
        "operators/reduce/bulk_reduce.py",
        """            if not rounds_precede(e.rounds, rounds, worker.guard):
                return False
""",
        "            pass\n",
        runtime="local-bulky",
    ),
    Mutant(
        "what joins have to say in the midst of many visits is said twice",
        "operators/flush.py",
        """        if is_heavy(worker, Node(p[2 * i])):
            flush(worker, Node(p[2 * i]))

""",
        """        if is_heavy(worker, Node(p[2 * i])):
            n = Node(p[2 * i]).buffer.length
            flush(worker, Node(p[2 * i]))
            Node(p[2 * i]).buffer.length = n

""",
        runtime="local-bulky",
    ),
    Mutant(
        "a round in which something is sent is called quiet",
        "operators/exchange/barrier.py",
        "1 if early > least else 0",
        "1 if early >= least else 0",
        runtime="local-2",
    ),
    Mutant(
        "workers do not meet after a join has sent rows",
        "engine/plan_layout.py",
        "(source.left, source.right) if side] if source.kind == kinds.JOIN else [source]",
        "(source.left, source.right) if side] if source.kind < 0 else [source]",
        runtime="local-2",
    ),
    Mutant(
        "in a loop the next of a key's rounds is not owed",
        "operators/gather.py",
        "        v.length = 1 if best != LAST else 0\n",
        "        v.length = 0\n",
    ),
    Mutant(
        "entries that are folded one by one are not put in order",
        "trace/folding.py",
        "        at = p + first_from(p, 0, m, w, e.lanes, e.rounds + 1) * w\n",
        "        at = end\n",
    ),
    Mutant(
        "rows of another round go into the last run of the mail",
        "operators/exchange/outbox.py",
        "    if at == 0 or run.node != number or run.rounds != rounds:\n",
        "    if at == 0 or run.node != number:\n",
        runtime="local-2",
    ),
    Mutant(
        "rows on their way are not pending anywhere",
        "engine/walk.py",
        "            count_outboxes(worker, loop)\n",
        "",
        runtime="local-2",
    ),
    Mutant(
        "mail is written over before it was read",
        "operators/exchange/barrier.py",
        "    return worker.outboxes if barrier % 2 else worker.other_outboxes\n",
        "    return worker.outboxes\n",
        runtime="local-2",
    ),
    Mutant(
        "a row of an earlier life is found again",
        "operators/consolidate.py",
        "    return slot >> WHERE == life + 1\n",
        "    return slot != 0\n",
    ),
    Mutant(
        "rows for another node go into the last run of the mail",
        "operators/exchange/outbox.py",
        "    if at == 0 or run.node != number or run.rounds != rounds:\n",
        "    if at == 0 or run.rounds != rounds:\n",
        runtime="local-2",
    ),
    Mutant(
        "a count that becomes zero is said in a moment of a few rows",
        "operators/reduce/totals/counts.py",
        "                    j += changed & ((low | -low) >> 63)\n",
        "                    j += changed\n",
    ),
    Mutant(
        "rows that go straight to where they stay have the times of their neighbours",
        "engine/worker.py",
        "address_of(self.slice_times) - 1",
        "address_of(self.slice_times) - 2",
        runtime="local-1-sliced",
    ),
    Mutant(
        "rows that found their place are taken and not counted",
        "engine/worker.py",
        "        buffer.room(int(consolidate.stop_direct(self.outputs[output][0])))\n",
        "        consolidate.stop_direct(self.outputs[output][0])\n",
        runtime="local-1-sliced",
    ),
    Mutant(
        "who runs out of memory keeps the others waiting",
        "engine/worker.py",
        "self.H[int(self.header.barrier) + barrier.STOPPED] = 1",
        "pass",
        runtime="starved-2",
    ),
    Mutant(
        "a walk that was given up leaves a round in which nobody meets",
        "engine/worker.py",
        "self.header.quiet = self.header.stage = 0",
        "self.header.stage = 0",
        runtime="starved-2",
    ),
    Mutant(
        "undoing forgets the mail for every other meeting only",
        "operators/exchange/barrier.py",
        """    for barrier in range(2):
        if outboxes_of(worker, barrier):
            begin_outboxes(worker, barrier)
""",
        "    begin_outboxes(worker, 1)\n",
        runtime="starved-2",
    ),
    Mutant(
        "a block beyond the limit is not written down, and an exception ends the kernel",
        "trace/heap.py",
        """    if end > worker.space_end:
        worker.broken = 1
""",
        "    if end > worker.limit:\n",
        runtime="starved-1",
    ),
    Mutant(
        "what is left of a refused step stays where memory ran out",
        "engine/undo.py",
        "                if segment.stamp >= worker.first:\n",
        "                if segment.stamp > worker.first:\n",
        runtime="starved-2",
    ),
    Mutant(
        "a vector is emptied that is only to have less room",
        "engine/compact_after_load.py",
        "        for v in (node.hold, node.owes):\n            fit(worker, v)\n",
        "        for v in (node.hold, node.owes):\n            v.length = 0\n",
        runtime="starved-1",
    ),
    Mutant(
        "a mean of decimals is cut off, not rounded",
        "columns/exact_sums.py",
        "    if not below(rest * 2, d):\n        found += 1\n",
        "",
        claim="test_a_mean_of_decimals_is_rounded",
    ),
    Mutant(
        "a mean of decimals of more digits than its type has is said",
        "columns/wide_sums.py",
        "    if inside and is_below(high, low, t1, t0):\n",
        "    if inside:\n",
        claim="test_decimals_near_their_end_are_right_or_refused and sums",
    ),
    Mutant(
        "decimals are compared without regard to their scales",
        "expressions/program.py",
        "    unit = 10 ** abs(up) if abs(up) <= DIGITS else o.NO_POWER\n",
        "    unit = 1\n",
        claim="test_decimals_near_their_end_are_right_or_refused and compared",
    ),
    Mutant(
        "a quotient of decimals has a digit too few",
        "expressions/program.py",
        "word(call.type.scale + y.scale - x.scale)",
        "word(call.type.scale + y.scale - x.scale - 1)",
        claim="test_a_quotient_of_short_decimals_has_the_digits_of_its_type",
    ),
    Mutant(
        "a total that does not fit on the way is refused",
        "columns/exact_sums.py",
        """    H[acc + 1] += high + carry
    return 0
""",
        """    H[acc + 1] += high + carry
    H[acc] = min(max(H[acc], -LARGEST_DECIMAL), LARGEST_DECIMAL)
    return 0
""",
        claim="test_decimals_near_their_end_are_right_or_refused and bags",
    ),
    Mutant(
        "copies of a row at an output are not summed over times",
        "frontend/running/output_log.py",
        "        if bound <= END:\n",
        "        if bound <= 4 * END:\n",
        runtime="one",
        claim="adds_up_over_times",
    ),
    Mutant(
        "copies that an entry cannot hold are kept",
        "trace/append.py",
        "    if diff <= DIFF_AT_MOST and diff >= -DIFF_AT_MOST:\n",
        "    if diff != 0:\n",
        runtime="one",
        claim="have_a_limit",
    ),
    Mutant(
        "names are compared by their ids",
        "algorithms/naming.py",
        """    return mixed(col(name) if kind.is_integer or kind.is_text else col(name).cast("string"))
""",
        """    return col(name) if kind.is_integer else mixed(col(name).cast("string"))
""",
        test=f"{GROWTH}[strongly_connected_components-chain-rising]",
    ),
    Mutant(
        "every level has the order of the ids",
        "algorithms/contraction.py",
        """    return ranked.group_by("level", "id").top(1, order_by=["rank", "into"])""",
        """    return ranked.group_by("level", "id").top(1, order_by=["into"])""",
        test="tests/algorithms/test_growth.py::"
        "test_where_levels_change_and_the_least_id_does_not_nothing_is_told_below",
    ),
    Mutant(
        "names travel as far as they can before anything is contracted",
        "algorithms/components.py",
        """    near = least_heard(both_ways(edges), ids, ROUNDS)
""",
        """    near = least_heard(both_ways(edges), ids)
""",
        test=f"{GROWTH}[connected_components-cycle-rising]",
    ),
    Mutant(
        "the least id of a level is told in any round",
        "algorithms/contraction.py",
        """        handed = told.join(steps.wait(lit(TOP) - col("level")), on=on, suffix="_below")
        lower = handed.select("least", level="level_below", id="id_below")
        return lower.union(whole.wait(lit(TOP) - col("level")))
""",
        """        handed = told.join(steps, on=on, suffix="_below")
        lower = handed.select("least", level="level_below", id="id_below")
        return lower.union(whole)
""",
        test="tests/algorithms/test_growth.py::"
        "test_where_levels_change_and_the_least_id_does_not_nothing_is_told_below",
    ),
    Mutant(
        "triangles are looked for along the ids",
        "algorithms/structure.py",
        """along = (col("size") < col("size_there")) |""",
        """along = (col("src") < col("dst")) |""",
        test=f"{GROWTH}[all_triangles-star-shuffled]",
    ),
    Mutant(
        "everyone is told every change of a hub's degree",
        "algorithms/structure.py",
        """agg(core=pow(lit(2), floor(log2(count())) + 1).cast("long"))""",
        """agg(core=count())""",
        test=f"{GROWTH}[core_number-star-rising]",
    ),
    Mutant(
        "ranks are rounded more than their error allows",
        "algorithms/ranking.py",
        """math.ceil(-math.log2(tol * (1 - alpha) / 4))""",
        """math.ceil(-math.log2(tol))""",
        test="tests/algorithms/test_ranking.py",
    ),
    Mutant(
        "ranks are rounded less than their error allows",
        "algorithms/ranking.py",
        """    return min(MOST_BITS, max(1, math.ceil(-math.log2(tol * (1 - alpha) / 4))))
""",
        """    return MOST_BITS
""",
        test="tests/algorithms/test_growth.py::"
        "test_a_link_replaced_costs_a_small_part_of_all_ranks_and_no_more_in_a_larger_graph",
    ),
]
