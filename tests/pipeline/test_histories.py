"""Streams that share places, in random histories beside a model; `python -m tests.pipeline.histories` runs more."""

from tests.pipeline.histories import histories


def test_random_histories_of_streams_that_share_places_agree_with_the_model():
    found = histories(count=300, seed=17)
    assert min(found[what] for what in ("refused", "refused to publish", "taken over", "continued", "crashed")) >= 50
    assert found["published"] >= 1500 and found["skipped"] >= 300 and found["set back"] >= 50
