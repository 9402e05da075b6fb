"""Text between processes: ids mean the same everywhere, and what one process adds is told to the others."""

import numpy as np
import pytest

from ebbflow.columns.text_pool import Pool
from ebbflow.errors import PlanError
from ebbflow.runtime.spark.texts import Texts, add_texts, part_of


def test_text_is_the_same_under_the_same_id_in_another_pool():
    here, there = Pool(), Pool()
    ids = here.encode_texts(["", "a", "é" * 40, "flow"])
    assert (np.sort(add_texts(there, part_of(here, ids))) == np.sort(ids)).all()
    assert there.decode(ids).to_pylist() == ["", "a", "é" * 40, "flow"]
    assert (there.ids() == np.sort(ids)).all()


def test_what_not_everybody_knows_is_fresh():
    here, there = Pool(), Texts()
    first, second = here.encode_texts(["a", "b"]), here.encode_texts(["c"])
    parts = {"one": part_of(here, first), "two": part_of(here, second)}
    there.tell(["one"], parts.__getitem__, None)
    assert there.is_exact and not len(there.fresh())
    made = there.pool.encode_texts(["new"])
    assert there.fresh().tolist() == made.tolist() and not there.is_exact
    there.tell(["one", "two"], parts.__getitem__, part_of(there.pool, made))
    assert there.is_exact and len(there.pool) == 4
    there.tell(["one", "two"], parts.__getitem__, None)  # what it was told once and is no longer: a step that failed
    assert not there.is_exact and there.fresh().tolist() == made.tolist()


def test_two_texts_with_one_id_are_refused():
    """With eight bits of hash, two pools that meet texts in another order give them other ids."""
    words = [f"word {i}" for i in range(200)]
    here, there = Pool(bits=8), Pool(bits=8)
    ids = here.encode_texts(words)
    there.encode_texts(words[::-1])
    with pytest.raises(PlanError, match="one id"):
        add_texts(there, part_of(here, ids))
