"""An image is all of a worker: it goes on elsewhere as if nothing had happened, in the middle of a walk as well."""

from itertools import count
from random import Random

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import stages
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.durable import dirty_pages, image, segments
from ebbflow.durable.image import Pages
from ebbflow.durable.segments import FEW_LINKS, LINE, PAGE, Delta, links_kept, sections, segment
from ebbflow.durable.store import name_of
from ebbflow.engine import apart
from ebbflow.errors import AddressTaken, DamagedFile
from ebbflow.operators import block
from ebbflow.trace import heap as h
from ebbflow.trace.worker_fields import Worker
from tests.runtime.imaged import BASE, bytes_of, close, host_of, reach_flow


def graph():
    (stage,) = stages.cut(rewrite(reach_flow().graph)[0])
    return stage.graph


def edges_at(random: Random, time: int, n: int = 3) -> dict:
    """New edges; and those of two times ago are gone, as the numbers of a time say which they were."""
    lanes = np.array([edge_of(time, i) for i in range(n)] + [edge_of(time - 2, i) for i in range(n)]).T
    lanes, diffs = lanes[:, : 2 * n if time > 1 else n], np.repeat([1, -1], n)[: 2 * n if time > 1 else n]
    order = np.array(random.sample(range(len(diffs)), len(diffs)))
    rows = {"edges": (np.ascontiguousarray(lanes[:, order]), np.full((len(diffs), 1), time), diffs[order])}
    if time == 0:
        rows["roots"] = (np.array([[0, 1]], np.int64), np.zeros((2, 1), np.int64), np.ones(2, np.int64))
    return rows


def edge_of(time: int, i: int) -> tuple[int, int]:
    random = Random(100 * time + i)
    return random.randrange(12), random.randrange(12)


def listed(results: dict) -> list:
    return sorted(
        (name, tuple(lanes[:, i].tolist()), tuple(times[i].tolist()), int(diffs[i]))
        for name, blocks in results.items()
        for lanes, times, diffs in blocks
        for i in range(len(diffs))
    )


class Cupboard(dict):
    """Segments by their names."""

    def put(self, deltas: dict) -> str:
        data = b"".join(segment(deltas))
        name = name_of([data])
        self[name] = data
        return name

    def reader(self, section: str):
        return lambda name: sections(self[name])[section]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_host_goes_on_in_another_place_as_if_nothing_had_happened(workers):
    plain, files = host_of(graph(), workers), Cupboard()
    base = BASE + (64 << 30)
    random = Random(5)
    steps = [edges_at(random, time) for time in range(30)]
    right = [listed(plain.advance(rows, ((t,),), ((t + 1,),))) for t, rows in enumerate(steps)]
    restarts, host = 0, host_of(graph(), workers, base)
    pages = [Pages(worker) for worker in host.workers]
    for t, rows in enumerate(steps):
        assert listed(host.advance(rows, ((t,),), ((t + 1,),))) == right[t]
        name = files.put({str(i): page.delta() for i, page in enumerate(pages)})
        for page in pages:
            page.settle(name)
        if random.random() < 0.4:
            chains, before = [page.chain for page in pages], [bytes_of(worker) for worker in host.workers]
            close(host)
            host = host_of(graph(), workers, base)
            pages = [Pages(worker) for worker in host.workers]
            for i, page in enumerate(pages):
                page.catch_up(chains[i], files.reader(str(i)))
            assert [bytes_of(worker) for worker in host.workers] == before
            restarts += 1
    assert restarts > 5
    close(host)
    close(plain)


def at_meetings(host, rows: dict, stop: int, results: dict):
    """Walk a slice, and stop before the meeting of this number; whether it came to that."""
    times = np.unique(np.concatenate([at[:, 0] for _, at, _ in rows.values()]))
    for worker in host.workers:
        worker.begin_advance(keeping=False)
        worker.slice_times = times
        worker.begin_slice()
    for name, (lanes, at, diffs) in rows.items():
        ranks = np.searchsorted(times, at[:, 0]) + 1
        host.share_out(name, lanes, [ranks] * len(host.workers), diffs)
    return go_on(host, stop, results)


def go_on(host, stop: int, results: dict) -> bool:
    """Walk on; whether it stands at a meeting, the one after so many."""
    for _ in range(stop) if stop > 0 else count():
        met = apart.to_barrier(host, results)
        if met.finished:
            return False
        apart.resume(host, {}, met.least)
    return True


@pytest.mark.parametrize("meeting", [1, 2, 3, 5, 8])
def test_a_walk_that_stands_at_a_meeting_goes_on_elsewhere(meeting):
    random, files = Random(meeting), Cupboard()
    first, (lanes, _, diffs) = edges_at(random, 0, 4), edges_at(random, 1, 12)["edges"]
    rows = {"edges": (lanes, np.array([[5], [9], [77]] * 4), diffs)}
    plain = host_of(graph(), 2)
    plain.advance(first, ((0,),), ((1,),))
    right: dict = {}
    at_meetings(plain, rows, -1, right)
    assert listed(right), "nothing came of it"
    end = [bytes_of(worker) for worker in plain.workers]
    close(plain)

    host = host_of(graph(), 2)
    host.advance(first, ((0,),), ((1,),))
    assert at_meetings(host, rows, meeting, {}), "the walk was shorter than that"
    pages = [Pages(worker) for worker in host.workers]
    name = files.put({str(i): page.delta(mid_walk=True) for i, page in enumerate(pages)})
    close(host)
    host, found = host_of(graph(), 2), {}
    for i, worker in enumerate(host.workers):
        Pages(worker).catch_up([name], files.reader(str(i)))
    go_on(host, -1, found)
    assert listed(found) == listed(right)
    assert [bytes_of(worker) for worker in host.workers] == end
    close(host)


def test_a_process_that_holds_part_of_a_chain_reads_only_the_rest():
    random, files = Random(1), Cupboard()
    host = host_of(graph())
    pages, chains, hashes = Pages(host.workers[0]), [], []
    for t in range(60):
        host.advance(edges_at(random, t, 2), ((t,),), ((t + 1,),))
        pages.settle(files.put({"0": pages.delta()}))
        chains.append(pages.chain)
        hashes.append(pages.hashes.copy())
    close(host)
    assert max(map(len, chains)) <= 4 * FEW_LINKS

    host, again = host_of(graph()), []
    (worker,) = host.workers
    held = Pages(worker)

    def reading(name):
        again.append(name in held.chain)
        return sections(files[name])["0"]

    for t in range(2, 60, 3):
        held.catch_up(chains[t], reading)
        assert held.chain == chains[t] and (held.hashes == hashes[t]).all()
    assert len(again) > 20 and not any(again), "what it held was read again"
    Worker(worker.W).free[127] += 1  # something that no chain knows of
    held.catch_up(chains[59], reading)
    assert (held.hashes == hashes[59]).all() and any(again)
    held.catch_up(chains[30], reading)  # and back
    assert (held.hashes == hashes[30]).all()
    close(host)


def test_the_bytes_do_not_depend_on_the_process_or_the_pool():
    found = []
    for i in range(2):
        pool = Pool()
        pool.encode_texts(["ballast"] * i)
        host = host_of(graph(), pool=pool)
        for t in range(5):
            host.advance(edges_at(Random(t), t), ((t,),), ((t + 1,),))
        found.append(bytes_of(host.workers[0]))
        close(host)
    assert found[0] == found[1]


def test_a_place_that_is_taken_is_refused_with_a_sentence():
    host = host_of(graph())
    with pytest.raises(AddressTaken, match="in use in this process"):
        host_of(graph())
    close(host)
    close(host_of(graph()))


def test_a_chain_stays_short_and_small():
    random, links, written, live = Random(3), [], 0, 4000 * PAGE
    for _ in range(3000):
        fresh = PAGE * random.randint(1, 20)
        kept = links_kept(links, fresh, live, lambda k, fresh=fresh: min(sum(links[k:]) + fresh, live))
        new = min(sum(links[kept:]) + fresh, live) if kept else live
        links[kept:] = [new]
        written += new
        assert sum(links) <= 2 * live + 2**14 + live and len(links) <= 4 * FEW_LINKS
    assert written < 6 * 3000 * 10 * PAGE


@pytest.mark.parametrize("at", range(0, 200, 7))
def test_a_segment_that_is_not_one_is_refused(at):
    words = np.arange(8)
    data = b"".join(segment({"a": Delta(True, 8, np.array([0]), np.array([8]), words, words[:2])}))
    assert (sections(data)["a"].words == words).all()
    with pytest.raises(DamagedFile):
        sections(data[: at % len(data)], "here")


def test_what_an_expression_knows_of_the_pool_is_said_anew_in_every_process():
    flow = ebb.Dataflow()
    names = flow.input("names", "name string")
    flow.output("late", names.filter(ebb.col("name") > "m"))
    (stage,) = stages.cut(rewrite(flow.graph)[0])
    host, files = host_of(stage.graph), Cupboard()
    assert len(host.workers[0].pool_words) > 1
    name = files.put({"0": Pages(host.workers[0]).delta()})
    close(host)
    pool = Pool()
    pool.encode_texts(["ballast"])
    host = host_of(stage.graph, pool=pool)
    Pages(host.workers[0]).catch_up([name], files.reader("0"))
    ids = pool.encode_texts(["zoë", "ann"])
    rows = {"names": (ids[None], np.zeros((2, 1), np.int64), np.ones(2, np.int64))}
    assert [row[1] for row in listed(host.advance(rows, ((0,),), ((1,),)))] == [(int(ids[0]),)]
    assert pool.address in host.workers[0].H[host.workers[0].pool_words]
    close(host)


def test_a_chain_read_from_its_beginning_gives_every_page():
    random, files = Random(8), Cupboard()
    host = host_of(graph())
    (worker,) = host.workers
    pages, p = Pages(worker), worker.heap.zeros(300 * PAGE)
    gathered = 0
    for number in range(120):
        for _ in range(random.randint(1, 4)):
            worker.H[p + random.randrange(300) * PAGE + random.randrange(PAGE)] = number + 1
        before = len(pages.chain)
        delta = pages.delta()
        pages.settle(files.put({"0": delta}))
        gathered += len(pages.chain) < before and not delta.whole
        if number % 10 == 9:
            again, wanted = Pages(worker), bytes_of(worker)
            again.catch_up(pages.chain, files.reader("0"))
            assert bytes_of(worker) == wanted
    assert gathered > 5
    close(host)


def test_nothing_that_a_worker_knows_beside_its_heap_was_forgotten():
    """What is new in a Worker belongs into the image, or is made again by laying out the plan and named here."""
    laid_out = {
        "plan",
        "me",
        "pool",
        "heap",
        "header",
        "H",
        "W",
        "callbacks",
        "shift",
        "stages",
        "at",
        "nodes",
        "program",
        "around",
        "walk",
    }
    laid_out |= {"inputs", "outputs", "pool_words", "forget_times", "stopped", "trim_at", "moment", "widest"}
    written = {"step", "forget_at", "slice_times", "saved", "kept"}
    host = host_of(graph())
    assert set(vars(host.workers[0])) == laid_out | written
    close(host)


def scribble(random: Random, worker, p: int, n: int) -> None:
    """Some words written, some pages or lines zeros again, some blocks asked for and given back, some steps done."""
    for _ in range(random.randint(0, 4)):
        worker.H[p + random.randrange(n * PAGE)] = random.randrange(3)
    if random.random() < 0.3:
        first = (p - worker.W + 8) // PAGE + 1 + random.randrange(n - 5)
        worker.heap.clear(first * PAGE, random.randint(1, 4) * PAGE)
    if random.random() < 0.3:
        at = p + random.randrange(n * PAGE - 2000)
        worker.H[at : at + random.choice([1, LINE, 5 * LINE, 2000])] = random.randrange(2)
    if random.random() < 0.3:
        size = random.choice([10, 3000, h.LARGE, 3 * h.LARGE])
        block = int(h.alloc(worker.W, size))
        worker.H[block : block + size] = random.randrange(1, 9)
        if random.random() < 0.6:
            h.release(worker.W, block, size)


@pytest.mark.skipif(dirty_pages.watch() is None, reason="this system does not tell which pages were written")
@pytest.mark.parametrize("seed", range(12))
def test_pages_that_the_system_told_and_pages_that_were_all_read_give_the_same_bytes(monkeypatch, seed):
    monkeypatch.setattr(image, "FEW_PAGES", 0)
    written, asked = [], []
    for how in ("all", "", "both"):
        monkeypatch.setenv(image.PAGES_SETTING, how)
        random, files, host = Random(seed), Cupboard(), host_of(graph())
        (worker,) = host.workers
        p, pages, names = worker.heap.zeros(100 * PAGE), Pages(worker), []
        told = 0
        for t in range(40):
            scribble(random, worker, p, 100)
            host.advance(edges_at(random, t, 2), ((t,),), ((t + 1,),))
            delta = pages.delta()
            if random.random() < 0.3:  # it was not written, and more happens before it is
                scribble(random, worker, p, 100)
                delta = pages.delta()
            names.append(files.put({"0": delta}))
            told += pages._dirty is not None and len(pages._suspects) < len(pages.hashes) // image.LINES // 2
            pages.settle(names[-1])
            if random.random() < 0.2:
                scribble(random, worker, p, 100)  # what is done here counts for nothing
                pages.catch_up(pages.chain, files.reader("0"))
        written.append(names)
        asked.append(told)
        close(host)
    assert written[0] == written[1] == written[2]
    assert asked[0] == 0 and asked[1] > 30 and asked[2] > 30


def test_pages_that_became_zeros_are_zeros_elsewhere():
    files, host = Cupboard(), host_of(graph())
    (worker,) = host.workers
    p, pages = worker.heap.zeros(50 * PAGE), Pages(worker)
    first = (p - worker.W + 8) // PAGE + 1
    worker.H[p : p + 50 * PAGE] = 7
    pages.settle(files.put({"0": pages.delta()}))
    chain = pages.chain
    worker.heap.clear(first * PAGE, 40 * PAGE)
    delta = pages.delta()
    assert len(delta.words) < 10 * PAGE and delta.cleared.tolist() == [first * PAGE, (first + 40) * PAGE]
    pages.settle(files.put({"0": delta}))
    wanted = bytes_of(worker)
    late = Pages(worker)
    late.catch_up(chain, files.reader("0"))
    assert bytes_of(worker) != wanted
    late.catch_up(pages.chain, files.reader("0"))
    assert bytes_of(worker) == wanted
    close(host)


@pytest.mark.parametrize("how", ["all", "", "both"])
@pytest.mark.parametrize("seed", range(6))
def test_whoever_catches_up_has_every_word_and_knows_every_line(monkeypatch, seed, how):
    monkeypatch.setattr(image, "FEW_PAGES", 0)
    monkeypatch.setenv(image.PAGES_SETTING, how)
    random, files, host = Random(seed), Cupboard(), host_of(graph())
    (worker,) = host.workers
    p, pages, steps = worker.heap.zeros(60 * PAGE), Pages(worker), []
    for t in range(40):
        for _ in range(3):
            scribble(random, worker, p, 60)
        host.advance(edges_at(random, t, 2), ((t,),), ((t + 1,),))
        pages.settle(files.put({"0": pages.delta()}))
        steps.append((pages.chain, pages.hashes.copy(), pages.live, bytes_of(worker)))
    whole, held = Pages(worker), Pages(worker)
    whole.delta()
    assert (whole.hashes == pages.hashes).all() and whole.live == pages.live
    for t in sorted(random.sample(range(40), 12)) + [20, 39]:
        if random.random() < 0.2:
            scribble(random, worker, p, 60)  # of which no chain knows
        held.catch_up(steps[t][0], files.reader("0"))
        assert (held.chain, held.live) == (steps[t][0], steps[t][2])
        assert len(held.hashes) == len(steps[t][1]) and (held.hashes == steps[t][1]).all()
        assert bytes_of(worker) == steps[t][3]
    close(host)


def test_a_step_writes_lines_and_not_the_pages_that_they_lie_on():
    files, host = Cupboard(), host_of(graph())
    (worker,) = host.workers
    p, pages = worker.heap.zeros(200 * PAGE), Pages(worker)
    worker.H[p : p + 200 * PAGE] = 7
    pages.settle(files.put({"0": pages.delta()}))
    for i in range(100):
        worker.H[p + 2 * i * PAGE] = 8
    delta = pages.delta()
    assert 100 * LINE <= len(delta.words) < 110 * LINE and not len(delta.cleared)
    close(host)


@pytest.mark.parametrize("seed", range(20))
def test_sorted_numbers_are_brought_together_and_compared_as_sets(seed):
    random = Random(seed)
    parts = [sorted(random.sample(range(30), random.randrange(12))) for _ in range(random.randrange(4))]
    found = segments.union([np.array(part, np.int64) for part in parts])
    assert found.tolist() == sorted({n for part in parts for n in part})
    some = np.array(sorted(random.sample(range(30), 3)), np.int64)
    assert segments.is_within(some, found) == (set(some.tolist()) <= set(found.tolist()))
    assert segments.is_within(found, found) and segments.is_within(found[:0], some)


def test_no_clock_can_be_seen_in_an_image(monkeypatch):
    found = []
    for seconds in (0, 10**9):
        monkeypatch.setattr("ebbflow.engine.worker.TRIM_SECONDS", seconds)
        host, files = host_of(graph()), Cupboard()
        (worker,) = host.workers
        pages, names = Pages(worker), []
        for t in range(6):
            block = int(h.alloc(worker.W, 2 * h.LARGE))
            worker.H[block : block + 2 * h.LARGE] = 7
            h.release(worker.W, block, 2 * h.LARGE)
            host.advance(edges_at(Random(t), t), ((t,),), ((t + 1,),))
            host.rest()
            h.alloc(worker.W, 2 * h.LARGE)  # whatever lies there
            names.append(files.put({"0": pages.delta()}))
            pages.settle(names[-1])
        found.append(names)
        close(host)
    assert found[0] == found[1]


def test_where_the_columns_of_a_block_lay_is_not_in_an_image():
    host, files = host_of(graph()), Cupboard()
    (worker,) = host.workers
    columns = block.Block(Worker(worker.W).block).columns
    worker.H[columns : columns + 4] = [1, 2, 3, 4]
    pages = Pages(worker)
    pages.settle(files.put({"0": pages.delta()}))
    assert not worker.H[columns : columns + 4 * block.MOST_COLUMNS].any()
    close(host)
