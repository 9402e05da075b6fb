"""`python -m tests.mutants.explored`: bugs planted in the explorer, each of which its tests must notice.

Those of its evaluator and of its causes are planted in tests/tools/test_evaluator.py and test_provenance.py.

Rule: what the page shows is noticed in a browser, who is answered by requests without one.
"""

from __future__ import annotations

import sys

from tests.mutants import durable
from tests.mutants.mutants import Mutant

PAGE, SERVING, FILES = (f"tests/tools/test_{name}.py" for name in ("explorer_page", "serving", "explorer"))
HERE = "tools/explorer"

PLANTED: list[tuple[Mutant, str]] = [
    (
        Mutant(
            "a name that resolves to this machine is answered",
            f"{HERE}/serving.py",
            'if self.headers.get_all("Host") != [page.host]:',
            'if not str(self.headers.get("Host")).endswith(page.host.partition(":")[2]):',
        ),
        f"{SERVING}::test_another_host_is_refused",
    ),
    (
        Mutant(
            "the first of two hosts counts",
            f"{HERE}/serving.py",
            'if self.headers.get_all("Host") != [page.host]:',
            'if self.headers.get("Host") != page.host:',
        ),
        f"{SERVING}::test_another_host_is_refused",
    ),
    (
        Mutant(
            "the page needs no token",
            f"{HERE}/serving.py",
            'if not self.knows(query.get("token", [""])[0]):',
            'if query.get("token") == ["wrong"]:',
        ),
        f"{SERVING}::test_without_the_token_nothing_is_shown",
    ),
    (
        Mutant(
            "the state takes a token by address",
            f"{HERE}/serving.py",
            'if not self.knows(self.headers.get("Authorization", "").removeprefix("Bearer ")):',
            'if not self.knows(query.get("token", [self.headers.get("Authorization", "")[7:]])[0]):',
        ),
        f"{SERVING}::test_the_state_asks_for_the_token_too",
    ),
    (
        Mutant(
            "an origin is not looked at",
            f"{HERE}/serving.py",
            'if self.headers.get("Origin", f"http://{page.host}") != f"http://{page.host}":',
            "if False:",
        ),
        f"{SERVING}::test_another_site_is_refused",
    ),
    (
        Mutant(
            "another site on this machine may ask",
            f"{HERE}/serving.py",
            'not in ("none", "same-origin"):',
            'not in ("none", "same-origin", "same-site"):',
        ),
        f"{SERVING}::test_another_site_is_refused",
    ),
    (
        Mutant(
            "a refused step leaves its changes",
            f"{HERE}/recording.py",
            "        super().discard()\n        self.fed.clear()\n",
            "        super().discard()\n",
        ),
        f"{FILES}::test_a_step_that_is_refused_leaves_no_note",
    ),
    (
        Mutant(
            "what is left out is not counted",
            f"{HERE}/recording.py",
            "self.recording.dropped[name] += max(0, len(diffs) - room)",
            "self.recording.dropped[name] += 0",
        ),
        f"{FILES}::test_a_recording_is_bounded_and_says_what_it_left_out",
    ),
    (
        Mutant(
            "a file holds how long a step took",
            f"{HERE}/page.py",
            "if timed and told.seconds else told.text",
            "if told.seconds else told.text",
        ),
        f"{FILES}::test_two_pages_of_one_story_are_equal",
    ),
    (
        Mutant(
            "data can end the script",
            f"{HERE}/page.py",
            '.replace(">", "\\\\u003e").replace("&", "\\\\u0026")',
            "",
        ),
        f"{FILES}::test_nothing_in_the_data_ends_the_script",
    ),
    (
        Mutant(
            "the past is that of the chosen cell", f"{HERE}/page.mjs", "past: placed(other)", "past: placed(state.cell)"
        ),
        f"{PAGE}::test_the_past_of_the_cell_under_the_pointer_lights_up",
    ),
    (
        Mutant(
            "an edit is not computed",
            f"{HERE}/page.mjs",
            "  restart();\n  show(before);\n}\n\nfunction following",
            "  show(before);\n}\n\nfunction following",
        ),
        f"{PAGE}::test_rows_of_a_cell_and_an_edit",
    ),
    (
        Mutant(
            "compaction leaves the frontier's time apart",
            f"{HERE}/page.mjs",
            "axis.filter((value) => value <= since).length - 1",
            "axis.filter((value) => value < since).length - 1",
        ),
        f"{PAGE}::test_times_that_compaction_makes_one_are_drawn_as_one",
    ),
    (
        Mutant(
            "cells count one by one in what compaction makes one",
            f"{HERE}/page.mjs",
            "if (all.length > 1) {",
            "if (all.length > 99) {",
        ),
        f"{PAGE}::test_times_that_compaction_makes_one_are_drawn_as_one",
    ),
    (
        Mutant(
            "no time is owed",
            f"{HERE}/story.mjs",
            "[time, ...[...all.values()].map((other) => joinOf(time, other))]",
            "[time]",
        ),
        f"{PAGE}::test_owed_times_are_rings",
    ),
    (
        Mutant(
            "the frontier is a line", f"{HERE}/lattice.mjs", "if (y > 0 && y < upward.length) d +=", "if (y > 99) d +="
        ),
        f"{PAGE}::test_the_frontier_is_a_staircase",
    ),
    (
        Mutant(
            "starting over costs what the change costs",
            f"{HERE}/story.mjs",
            "step.over = startingOver(plan, evaluation, changes, time);",
            "step.over = step.touched;",
        ),
        f"{PAGE}::test_the_story_is_told_in_order_and_counts",
    ),
    (
        Mutant(
            "a change that was let go still moves",
            f"{HERE}/timeline.mjs",
            "    this.drag = null;\n    this.chipOf",
            "    this.chipOf",
        ),
        f"{PAGE}::test_a_change_is_dragged_to_another_time",
    ),
    (
        Mutant(
            "the meet is the join",
            f"{HERE}/page.mjs",
            "const meet = state.marked && meetOf(",
            "const meet = state.marked && joinOf(",
        ),
        f"{PAGE}::test_the_history_of_a_row_and_two_cells_with_their_join_and_meet",
    ),
    (
        Mutant(
            "a row that went is said to be there",
            f"{HERE}/records.mjs",
            "const is = gone && !evaluation.at(fact.node, gone).has(fact.key);",
            "const is = false;",
        ),
        f"{PAGE}::test_why_a_row_is_here_ends_at_the_inputs",
    ),
    (
        Mutant("the page follows over an edit", f"{HERE}/page.mjs", "  if (data.live) following(false);\n", ""),
        f"{SERVING}::test_the_page_shows_each_step_until_the_reader_edits",
    ),
    (
        Mutant(
            "a cell names the rows of the chosen one",
            f"{HERE}/page.mjs",
            "inOrder(new Map(changesShown(timeOf(x, y))))",
            "inOrder(new Map(changesShown(state.cell)))",
        ),
        f"{PAGE}::test_the_rows_stand_in_their_cells_where_there_is_room",
    ),
    (
        Mutant(
            "buttons go out of sight",
            f"{HERE}/page.css",
            "white-space: nowrap; position: sticky; right: 0;",
            "white-space: nowrap;",
        ),
        f"{PAGE}::test_long_values_and_large_times_stay_readable",
    ),
]


if __name__ == "__main__":
    sys.exit(durable.main(planted=PLANTED, prog="python -m tests.mutants.explored", about=__doc__))
