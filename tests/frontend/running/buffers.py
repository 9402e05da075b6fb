"""Input buffers by themselves, without a session."""

from ebbflow.columns.schema import BOOLEAN, BYTE, DOUBLE, FLOAT, INT, LONG, SHORT, STRING, Field, Schema
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.frontend.running.input_buffer import InputBuffer
from ebbflow.frontend.running.output_log import joined

TYPES = (LONG, INT, SHORT, BYTE, DOUBLE, FLOAT, BOOLEAN, STRING)
ALL = Schema(tuple(Field(str(type_), type_) for type_ in TYPES))


def make(schema=ALL, key=(), coordinates=("time",)):
    pool = Pool()

    def text_id(text):
        try:
            return int(pool.encode_texts([text])[0])
        except UnicodeEncodeError:
            return None

    return InputBuffer(n.Input("x", schema, key), coordinates, pool, text_id)


def taken(given_):
    (block,) = given_.due(((10**6,),)).now
    return block.lanes.tolist(), block.times.tolist(), block.diffs.tolist()


def all_of(given_):
    """The rows of all blocks, times and diffs as plain numbers."""
    lanes, times, diffs = joined(given_.due(((10**6,),)).now)
    return lanes.tolist(), times[:, 0].tolist(), diffs.tolist()
