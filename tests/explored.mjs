// Answers for tests/explored.py: a JSON line in, a JSON line out.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Plan, Evaluation, Refusal, compiled, readType, readValue } = await import(pathToFileURL(process.argv[2]));
const bits = new DataView(new ArrayBuffer(8));

function plain(value) {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return `"${value}`;
  bits.setFloat64(0, value);
  return `f${value !== value ? "nan" : bits.getBigInt64(0)}`;
}

const listed = (rows) => [...rows.values()].map(([row, weight]) => [row.map(plain), String(weight)]);

/** What a collection is, or null where one of its numbers has no place: the other collections are compared all the same. */
function orOverflow(compute) {
  try {
    return compute();
  } catch (error) {
    if (error instanceof Refusal && error.kind === "NumberOverflow") return null;
    throw error;
  }
}

function program({ plan, inputs, changes, points, most }) {
  const read = new Plan(plan);
  const given = {};
  read.nodes.forEach((node, i) => {
    if (node.kind !== "input") return;
    const { types } = read.schemas[i];
    given[node.input] = (inputs[node.input] ?? []).map(([row, time, diff]) => [row.map((v, c) => readValue(v, types[c])), time, diff]);
  });
  const evaluation = new Evaluation(read, given);
  const answer = { changes: {}, at: {}, rounds: {} };
  for (const i of changes) {
    answer.changes[i] = orOverflow(() => {
      const axes = evaluation.axes(i);
      const rounds = evaluation.rounds(i, axes, most);
      answer.rounds[i] = rounds;
      return evaluation.changes(i, { axes, rounds }).map(({ row, time, diff }) => [row.map(plain), time, String(diff)]);
    });
  }
  for (const [i, asked] of Object.entries(points)) {
    answer.at[i] = asked.map(([time, rounds]) => orOverflow(() => listed(evaluation.at(Number(i), time, rounds))));
  }
  return answer;
}

function expression({ expr, rows, types }) {
  const kinds = types.map(([, type]) => readType(type));
  const fn = compiled(expr, types.map(([name]) => name), kinds);
  return rows.map((row) => {
    try {
      return plain(fn(row.map((value, i) => readValue(value, kinds[i]))));
    } catch (error) {
      if (error instanceof Refusal) return { refused: error.kind };
      throw error;
    }
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  try {
    answer = asked.expr ? expression(asked) : program(asked);
  } catch (error) {
    answer = error instanceof Refusal ? { refused: error.kind, what: error.message } : { broke: String(error.stack) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
