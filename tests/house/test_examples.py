"""Claims about what people read first: every public method and function shows how it is used, in lines that run."""

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.frontend import aliases
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.date_methods import Moment
from ebbflow.frontend.building.grouping import Grouped
from ebbflow.frontend.building.ordering import Ordered
from ebbflow.frontend.building.text_methods import Text

SECOND_SPELLINGS = {
    *aliases.COLLECTION_ALIASES,
    *aliases.COLUMN_ALIASES,
    *aliases.GROUPED_ALIASES,
    *aliases.TABLE_ALIASES,
}
PROMISED = {"sql"}  # not built yet
KINDS = [ebb.Dataflow, ebb.Collection, Grouped, Ordered, ebb.Session, Column, Text, Moment]
METHODS = [
    (kind.__name__, name, member.fget if isinstance(member, property) else member)
    for kind in KINDS
    for name, member in vars(kind).items()
    if not name.startswith("_") and (callable(member) or isinstance(member, property))
    if name not in SECOND_SPELLINGS | PROMISED
]
FUNCTIONS = [("functions", name, getattr(F, name)) for name in F.__all__]


@pytest.mark.parametrize(
    ("owner", "name", "member"), METHODS + FUNCTIONS, ids=lambda part: getattr(part, "__name__", part)
)
def test_it_shows_how_it_is_used(owner, name, member):
    assert ">>> " in (member.__doc__ or ""), f"{owner}.{name} has no example"
