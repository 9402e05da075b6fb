// What a plan means, in a browser: every node's collection at every time, from nothing but the inputs' changes.
//
// A plan is the JSON that ebbflow/dataflow/plan_json.py writes.  A collection is a Map from a record's key (text) to
// [row, weight].  Whole numbers, dates (days), timestamps (microseconds) and decimals (scaled) are BigInt, doubles are
// numbers, text is text, bytes are text of the characters 0 to 255, null is null.  Weights are BigInt.
//
// Rule: the meaning is that of ebbflow/runtime/oracle.py, which the tests compare it with; nothing is incremental.

const LEAST = -(2n ** 63n); // the word of null: no number has it
const MOST = 2n ** 63n - 1n;
const PRECISION = 38; // that a decimal's type can have
const DAY = 86_400_000_000n; // microseconds
const FIRST_DAY = -719_162n;
const LAST_DAY = 2_932_896n;
const PATIENCE = 10_000; // rounds after which an unbounded loop counts as one that never settles

class Refusal extends Error {
  constructor(kind, what) {
    super(what);
    this.kind = kind;
  }
}

// ---- numbers --------------------------------------------------------------------------------

const magnitude = (x) => (x < 0n ? -x : x);
const bitsOf = (x) => (x === 0n ? 0 : x.toString(2).length);

function floorDiv(x, y) {
  const q = x / y;
  return x % y !== 0n && x < 0n !== y < 0n ? q - 1n : q;
}

function inRange(x) {
  if (x <= LEAST || x > MOST) throw new Refusal("NumberOverflow", `${x} has no place in 64 bits.`);
  return x;
}

function fitsLong(x) {
  if (x <= LEAST || x > MOST) throw new Refusal("NumberOverflow", `${x} does not fit a long.`);
  return x;
}

function fitsDecimal(x) {
  if (magnitude(x) >= 10n ** BigInt(PRECISION)) {
    throw new Refusal("NumberOverflow", `${x} needs more than ${PRECISION} digits.`);
  }
  return x;
}

/** x / y for whole numbers, rounded once, half to even. */
function quotient(x, y) {
  if (x === 0n) return 0;
  const negative = x < 0n !== y < 0n;
  let [a, b] = [magnitude(x), magnitude(y)];
  let shift = bitsOf(a) - bitsOf(b) - 54; // leaves 54 or 55 bits of the answer
  shift = Math.max(shift, -1074);
  if (shift > 0) b <<= BigInt(shift);
  else a <<= BigInt(-shift);
  let q = a / b;
  const rest = a % b !== 0n;
  const extra = shift === -1074 ? Math.max(0, bitsOf(q) - 53) : bitsOf(q) - 53;
  if (extra > 0) {
    const unit = 1n << BigInt(extra);
    const low = q & (unit - 1n);
    const half = unit >> 1n;
    q >>= BigInt(extra);
    if (low > half || (low === half && (rest || q & 1n))) q += 1n;
    shift += extra;
  } else if (rest && 2n * (a % b) >= b && (2n * (a % b) > b || q & 1n)) {
    q += 1n;
  }
  const found = scaledByTwo(Number(q), shift);
  return negative ? -found : found;
}

/** x * 2^power, where the answer is exact or infinite. */
function scaledByTwo(x, power) {
  while (power > 1000) {
    x *= 2 ** 1000;
    power -= 1000;
  }
  while (power < -1000) {
    x *= 2 ** -1000;
    power += 1000;
  }
  return x * 2 ** power;
}

const words = new DataView(new ArrayBuffer(8));

/** A finite double as a whole number of 2^-1074. */
function inSmallest(x) {
  words.setFloat64(0, x);
  const bits = words.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const whole = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
  return x < 0 ? -whole : whole;
}

/** The sum of weighted doubles, rounded once. */
function exactSum(pairs) {
  let exact = 0n;
  const unbounded = new Set();
  for (const [value, weight] of pairs) {
    if (Number.isFinite(value)) exact += inSmallest(value) * weight;
    else unbounded.add(weight < 0n ? -value : value);
  }
  if (unbounded.size) return unbounded.size === 1 ? [...unbounded][0] : NaN;
  return quotient(exact, 1n << 1074n);
}

/** Rounds x / 10^drop half away from zero. */
function dropDigits(x, drop) {
  return drop <= 0 ? x * 10n ** BigInt(-drop) : nearest(x, 10n ** BigInt(drop));
}

/** x / y rounded to a whole number, half away from zero. */
function nearest(x, y) {
  const found = (2n * magnitude(x) + magnitude(y)) / (2n * magnitude(y));
  return x < 0n !== y < 0n ? -found : found;
}

/** Decimal text as [digits, exponent]: digits * 10^exponent. */
function readDecimal(text) {
  const [, sign, whole, rest, , exponent] = /^([+-]?)(\d*)\.?(\d*)([eE]([+-]?\d+))?$/.exec(text);
  const digits = BigInt((whole + rest).padStart(1, "0"));
  return [sign === "-" ? -digits : digits, Number(exponent ?? 0) - rest.length];
}

/** [digits, exponent] as a whole number of 10^-scale, half away from zero. */
function atScale([digits, exponent], scale) {
  const drop = -scale - exponent;
  if (drop > digits.toString().length + 1) return 0n;
  return dropDigits(digits, drop);
}

function decimalText(x, scale) {
  const digits = magnitude(x).toString().padStart(scale + 1, "0");
  const text = scale ? `${digits.slice(0, -scale)}.${digits.slice(-scale)}` : digits;
  return x < 0n ? `-${text}` : text;
}

// ---- types and values -----------------------------------------------------------------------

const INTEGERS = { byte: 7n, short: 15n, int: 31n, long: 63n };
const isInteger = (type) => type.name in INTEGERS;
const isMoment = (type) => type.name === "timestamp" || type.name === "timestamp_ntz";
const isFloat = (type) => type.name === "double" || type.name === "float";

function readType(text) {
  const found = /^decimal\((\d+),\s*(\d+)\)$/.exec(text);
  return found
    ? { name: "decimal", precision: Number(found[1]), scale: Number(found[2]) }
    : { name: text, precision: 0, scale: 0 };
}

/** A value as JSON holds it ({"decimal": "1.25"}, {"date": "2024-02-29"}, ...) in this page's own form. */
function readValue(entry, type) {
  if (entry === null || entry === undefined) return null;
  switch (type.name) {
    case "double":
    case "float":
      if (typeof entry === "object") {
        return entry.float === undefined ? Number(entry.long) : Number(entry.float.replace("inf", "Infinity"));
      }
      return Number(entry);
    case "boolean":
      return Boolean(entry);
    case "string":
      return String(entry);
    case "binary":
      return (entry.bytes.match(/../g) ?? []).map((pair) => String.fromCharCode(parseInt(pair, 16))).join("");
    case "date":
      return dayOf(...entry.date.split("-").map(Number));
    case "timestamp":
      return timestampOfText(entry.datetime);
    case "timestamp_ntz":
      return clockOfText(entry.datetime).shown;
    case "decimal":
      return atScale(typeof entry === "object" ? readDecimal(entry.decimal ?? entry.long) : [BigInt(entry), 0], type.scale);
  }
  return BigInt(typeof entry === "object" ? entry.long : entry);
}

/** A value of a type as JSON that `readValue` reads again. */
function writeValue(value, type) {
  if (value === null) return null;
  switch (type.name) {
    case "double":
    case "float":
      return Number.isFinite(value) ? value : { float: String(value).replace("Infinity", "inf").toLowerCase() };
    case "binary":
      return { bytes: [...value].map((c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join("") };
    case "date":
      return { date: dateText(value) };
    case "timestamp":
    case "timestamp_ntz":
      return { datetime: timestampText(value) };
    case "decimal":
      return { decimal: decimalText(value, type.scale) };
    case "boolean":
    case "string":
      return value;
  }
  return magnitude(value) < 2n ** 53n ? Number(value) : { long: String(value) };
}

/** What a user types into a cell, as a value; throws a Refusal that says what the type wants. */
function parseValue(text, type) {
  const trimmed = strip(text);
  if (trimmed === "" && type.name !== "string") return null;
  if (type.name === "string") return text === "null" ? null : text;
  if (trimmed.toLowerCase() === "null") return null;
  const found = cast(text, { name: "string" }, type);
  if (found === null) throw new Refusal("TypeMismatch", `"${text}" does not read as a ${typeText(type)}.`);
  return found;
}

const typeText = (type) => (type.name === "decimal" ? `decimal(${type.precision},${type.scale})` : type.name);

/** A value as people read it. */
function showValue(value, type) {
  if (value === null) return "null";
  if (type.name === "binary") return `0x${writeValue(value, type).bytes}`;
  if (isFloat(type) && Number.isFinite(value)) return Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : String(value);
  return cast(value, type, { name: "string" }) ?? String(value);
}

/** A value as it is kept in a record: -0.0 is 0.0, floats are narrow, decimals have 38 digits, other numbers 64 bits. */
function kept(value, type) {
  if (value === null) return null;
  if (type.name === "float") return Math.fround(value) + 0;
  if (type.name === "double") return value + 0;
  if (type.name === "decimal") return fitsDecimal(value);
  return typeof value === "bigint" ? inRange(value) : value;
}

function keyOf(row) {
  let key = "";
  for (const value of row) {
    if (value === null) key += "~,";
    else if (typeof value === "string") key += `${value.length}:${value},`;
    else key += `${value},`;
  }
  return key;
}

/** Text by code points. */
function compareText(x, y) {
  const end = Math.min(x.length, y.length);
  for (let i = 0; i < end; i++) {
    const [a, b] = [x.charCodeAt(i), y.charCodeAt(i)];
    if (a !== b) {
      const [high, other] = [a >= 0xd800 && a <= 0xdfff, b >= 0xd800 && b <= 0xdfff]; // halves of what comes last
      return high !== other ? (high ? 1 : -1) : a - b;
    }
  }
  return x.length - y.length;
}

/** Two values of one type, neither null: NaN equals itself and comes last. */
function compareValues(x, y) {
  if (typeof x === "string") return compareText(x, y);
  if (typeof x === "number") {
    if (x !== x || y !== y) return (x !== x) - (y !== y);
  }
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Nulls first. */
function compareOrder(x, y) {
  if (x === null || y === null) return (y === null) - (x === null);
  return compareValues(x, y);
}

const NO_ZONES = "and the explorer's page knows UTC and offsets like +02:00 only";

// ---- dates and times ------------------------------------------------------------------------

const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const isLeap = (year) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
const monthLength = (year, month) => (month === 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);

/** Days since 1970-01-01; null where the calendar has no such day. */
function dayOf(year, month, day) {
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > monthLength(year, month)) return null;
  const before = year - 1;
  let days = before * 365 + Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
  for (let m = 1; m < month; m++) days += monthLength(year, m);
  return BigInt(days + day - 1) + FIRST_DAY;
}

function civil(days) {
  const since = Number(days - FIRST_DAY);
  let year = Math.floor(since / 365.2425) + 1;
  const start = (y) => (y - 1) * 365 + Math.floor((y - 1) / 4) - Math.floor((y - 1) / 100) + Math.floor((y - 1) / 400);
  while (start(year) > since) year--;
  while (start(year + 1) <= since) year++;
  let [month, rest] = [1, since - start(year)];
  while (rest >= monthLength(year, month)) rest -= monthLength(year, month++);
  return { year, month, day: rest + 1 };
}

const padded = (number, width = 2) => String(number).padStart(width, "0");

function dateText(days) {
  const { year, month, day } = civil(days);
  return `${padded(year, 4)}-${padded(month)}-${padded(day)}`;
}

function clockOf(moment) {
  const inside = moment - floorDiv(moment, DAY) * DAY;
  const seconds = Number(inside / 1_000_000n);
  return {
    hour: Math.floor(seconds / 3600),
    minute: Math.floor(seconds / 60) % 60,
    second: seconds % 60,
    micros: Number(inside % 1_000_000n),
  };
}

function timestampText(moment) {
  const { hour, minute, second, micros } = clockOf(moment);
  const rest = micros ? `.${padded(micros, 6).replace(/0+$/, "")}` : "";
  return `${dateText(floorDiv(moment, DAY))} ${padded(hour)}:${padded(minute)}:${padded(second)}${rest}`;
}

const momentOrNull = (moment) => (moment < FIRST_DAY * DAY || moment >= (LAST_DAY + 1n) * DAY ? null : moment);

/** Every decimal digit of Unicode as one of 0 to 9. */
const plainDigits = (text) =>
  text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0);
    let first = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
    return String((code - first) % 10);
  });

function dateOfText(text) {
  const found = /^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$/.exec(plainDigits(strip(text).split(/[ T]/, 1)[0]));
  return found ? dayOf(Number(found[1]), Number(found[2] ?? 1), Number(found[3] ?? 1)) : null;
}

const CLOCK = new RegExp(`^(\\d{1,2}):(\\d{1,2})(?::(\\d{1,2})(?:\\.(\\d{1,9}))?)?${SPACE}*([+-]\\d.*|[A-Za-z].*)?$`);

/** What a text shows of a calendar and a clock (null where it does not read), and the offset of the zone it names. */
function clockOfText(text) {
  text = strip(text);
  const nothing = { shown: null, offset: null };
  const split = text.search(/[ T]/);
  const start = dateOfText(split < 0 ? text : text.slice(0, split));
  if (start === null || split < 0) return start === null ? nothing : { shown: start * DAY, offset: null };
  const clock = plainDigits(strip(text.slice(split + 1)));
  const found = CLOCK.exec(/^\d+$/.test(clock) ? `${clock}:00` : clock);
  if (!found) return nothing;
  const [hour, minute, second] = [Number(found[1]), Number(found[2]), Number(found[3] ?? 0)];
  if (hour > 23 || minute > 59 || second > 59) return nothing;
  const offset = found[5] === undefined ? null : zoneOffset(found[5]);
  if (offset === undefined) return nothing;
  const micros = Number((found[4] ?? "0").padEnd(6, "0").slice(0, 6));
  return { shown: start * DAY + BigInt(hour * 3600 + minute * 60 + second) * 1_000_000n + BigInt(micros), offset };
}

function timestampOfText(text) {
  const { shown, offset } = clockOfText(text);
  return shown === null || offset === null ? shown : momentOrNull(shown - offset);
}

const OFFSET = /^(?:UTC|GMT|UT)?(?:([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?)?$/;
const REGION = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;
const OF_JAVA = { EST: "-05:00", MST: "-07:00", HST: "-10:00" };

/** Microseconds, or undefined where this is no zone; a region of the tz database is refused: the page has no tables. */
function zoneOffset(name) {
  if (name === "Z" || name === "z") return 0n;
  const found = OFFSET.exec(OF_JAVA[name] ?? name);
  if (found) {
    const [hours, minutes, seconds] = found.slice(2).map((part) => Number(part ?? 0));
    const offset = hours * 3600 + minutes * 60 + seconds;
    if (minutes > 59 || seconds > 59 || offset > 18 * 3600) return undefined;
    return BigInt(offset) * (found[1] === "-" ? -1_000_000n : 1_000_000n);
  }
  if (!REGION.test(name)) return undefined;
  throw new Refusal("PlanError", `A text names the time zone "${name}", ${NO_ZONES}.`);
}

// ---- casts ----------------------------------------------------------------------------------

const BLANK = "[\\x00-\\x20\\x7f]"; // what stands around a value in text, and does not count
const ENDS = new RegExp(`^${BLANK}+|${BLANK}+$`, "g");
const strip = (text) => text.replace(ENDS, "");
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const FLOATING = new RegExp(NUMBER.source.replace(/\$$/, "[dDfF]?$"));
const HEXADECIMAL = /^([+-]?)0[xX](?=\.?[0-9a-fA-F])([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)[dDfF]?$/;
const TRUE = new Set(["t", "true", "y", "yes", "1"]);
const FALSE = new Set(["f", "false", "n", "no", "0"]);

/** As Spark's try_cast: null where the value has no counterpart. */
function cast(x, from, to) {
  if (x === null) return null;
  if (isInteger(to)) return toInteger(x, from, to);
  switch (to.name) {
    case "decimal":
      return toDecimal(x, from, to);
    case "double":
      return toDouble(x, from);
    case "float": {
      const found = toDouble(x, from);
      return found === null ? null : Math.fround(found) + 0;
    }
    case "boolean":
      return toBoolean(x, from);
    case "string":
      return toText(x, from);
    case "binary":
      return from.name === "binary" ? x : [...new TextEncoder().encode(x)].map((b) => String.fromCharCode(b)).join("");
    case "date":
      return isMoment(from) ? floorDiv(x, DAY) : from.name === "date" ? x : dateOfText(x);
    case "timestamp":
      return toTimestamp(x, from);
    case "timestamp_ntz":
      return from.name === "string" ? clockOfText(x).shown : toTimestamp(x, from);
  }
  throw new Refusal("PlanError", `The plan casts to ${typeText(to)}, which the explorer does not know.`);
}

function toInteger(x, from, to) {
  let found;
  if (from.name === "string") {
    const text = strip(x);
    if (!/^[+-]?\d+$/.test(text)) return null;
    found = BigInt(text.replace(/^\+/, ""));
  } else if (from.name === "timestamp") found = floorDiv(x, 1_000_000n);
  else if (isFloat(from)) {
    if (!Number.isFinite(x)) return null;
    found = x === 2 ** 63 ? MOST : BigInt(Math.trunc(x)); // to which Spark finds it equal
  } else if (from.name === "boolean") found = x ? 1n : 0n;
  else found = from.name === "decimal" ? x / 10n ** BigInt(from.scale) : x;
  const room = 2n ** INTEGERS[to.name];
  return found > LEAST && -room <= found && found < room ? found : null;
}

function toDouble(x, from) {
  if (from.name === "string") {
    const text = strip(x);
    const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
    if (special) return special[2].toLowerCase() === "nan" ? NaN : special[1] === "-" ? -Infinity : Infinity;
    const sixteens = HEXADECIMAL.exec(text);
    if (sixteens) return ofSixteens(...sixteens.slice(1)) + 0;
    return FLOATING.test(text) ? Number(text.replace(/[dDfF]$/, "")) + 0 : null;
  }
  if (from.name === "timestamp") return quotient(x, 1_000_000n);
  if (from.name === "decimal") return Number(decimalText(x, from.scale)) + 0;
  return Number(x) + 0;
}

/** Digits of base 16, before and after the point, times 2^exponent. */
function ofSixteens(sign, whole, rest, exponent) {
  const digits = BigInt(`0x${whole}${rest}`);
  if (digits === 0n) return 0;
  const power = BigInt(exponent.replace("+", "")) - 4n * BigInt(rest.length);
  const size = power + BigInt(bitsOf(digits));
  const found = size > 1100n ? Infinity : size < -1200n ? 0 : power < 0n ? quotient(digits, 1n << -power) : quotient(digits << power, 1n);
  return sign === "-" ? -found : found;
}

function toBoolean(x, from) {
  if (from.name !== "string") return isFloat(from) ? x !== 0 : Boolean(x);
  const text = strip(x).toLowerCase();
  return TRUE.has(text) ? true : FALSE.has(text) ? false : null;
}

function toDecimal(x, from, to) {
  let exact;
  if (from.name === "string") {
    const text = strip(x);
    if (!NUMBER.test(text)) return null;
    exact = readDecimal(text);
  } else if (from.name === "timestamp") {
    exact = [x, -6];
  } else if (isFloat(from)) {
    const number = toDouble(x, from);
    if (!Number.isFinite(number)) return null;
    exact = readDecimal(String(number));
  } else exact = [typeof x === "boolean" ? BigInt(x) : x, from.name === "decimal" ? -from.scale : 0];
  const [digits, exponent] = exact;
  if (digits === 0n) return 0n;
  if (magnitude(digits).toString().length - 1 + exponent > PRECISION) return null;
  const found = atScale(exact, to.scale);
  return magnitude(found) < 10n ** BigInt(to.precision) ? fitsDecimal(found) : null;
}

function toText(x, from) {
  switch (from.name) {
    case "string":
      return x;
    case "boolean":
      return x ? "true" : "false";
    case "double":
    case "float":
      return javaText(x, from.name === "float");
    case "binary":
      try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(x, (c) => c.charCodeAt(0)));
      } catch {
        return null;
      }
    case "date":
      return dateText(x);
    case "timestamp":
    case "timestamp_ntz":
      return timestampText(x);
    case "decimal":
      return decimalText(x, from.scale);
  }
  return String(x);
}

/** The fewest digits that read as x, but two where one would do and another is nearer: 4.9E-324. */
function shortest(x, single) {
  const reads = (text) => (single ? Math.fround(Number(text)) : Number(text)) === x;
  let found = String(x);
  if (single) for (let digits = 0; !reads((found = x.toExponential(digits))); ) digits++;
  const few = readDecimal(found);
  if (magnitude(few[0]).toString().replace(/0+$/, "").length > 1) return few;
  const [digits, exponent] = readDecimal(x.toPrecision(2));
  return digits % 10n !== 0n && reads(x.toPrecision(2)) ? [digits, exponent] : few;
}

/** A double (or a 32-bit float) as Java writes it from version 19 on: 1.0, 1.0E10, NaN, Infinity. */
function javaText(x, single = false) {
  if (!Number.isFinite(x)) return String(x);
  if (x === 0) return Object.is(x, -0) ? "-0.0" : "0.0";
  const [digits, exponent] = shortest(x, single);
  const size = Math.abs(x);
  if (size >= 1e-3 && size < 1e7) {
    if (exponent >= 0) return `${digits * 10n ** BigInt(exponent)}.0`;
    return decimalText(digits, -exponent);
  }
  const text = magnitude(digits).toString().replace(/0+$/, "");
  const power = magnitude(digits).toString().length - 1 + exponent;
  return `${x < 0 ? "-" : ""}${text[0]}.${text.slice(1) || "0"}E${power}`;
}

function toTimestamp(x, from) {
  switch (from.name) {
    case "timestamp":
    case "timestamp_ntz":
      return x;
    case "date":
      return x * DAY;
    case "string":
      return timestampOfText(x);
    case "double":
    case "float":
      return Number.isFinite(x * 1e6) ? momentOrNull(BigInt(Math.floor(x * 1e6))) : null;
    case "decimal":
      return momentOrNull((x * 1_000_000n) / 10n ** BigInt(from.scale));
  }
  return momentOrNull(BigInt(x) * 1_000_000n);
}

// ---- operations -----------------------------------------------------------------------------

function floorDivFloat(x, y) {
  if (!Number.isFinite(x)) return NaN;
  const rest = x % y;
  let found = (x - rest) / y;
  if (rest && y < 0 !== rest < 0) found -= 1;
  if (found === 0) return 0;
  const floor = Math.floor(found);
  return found - floor > 0.5 ? floor + 1 : floor;
}

/** As Java's: a power of 1 that is nan or infinite has no value. */
function power(x, y) {
  if (x === 0 && y < 0) return Infinity;
  return x ** y + 0;
}

function rounded(x, digits, type) {
  digits = Number(digits);
  if (isFloat(type)) {
    if (!Number.isFinite(x) || digits > 340) return x;
    if (Math.abs(digits) > 400) return 0;
    const found = atScale(readDecimal(String(x)), digits);
    return Number(`${found}e${-digits}`) + 0;
  }
  if (type.name === "decimal") {
    const scale = Math.max(0, Math.min(type.scale, digits));
    if (digits < -400) return 0n;
    const first = digits < 0 ? dropDigits(x, type.scale - digits) * 10n ** BigInt(-digits) : dropDigits(x, type.scale - scale);
    return fitsDecimal(first);
  }
  if (digits >= 0) return x;
  return digits < -400 ? 0n : fitsLong(dropDigits(x, -digits) * 10n ** BigInt(-digits));
}

function longOrNull(x, type, up) {
  let found;
  if (isFloat(type)) {
    if (!Number.isFinite(x)) return null;
    found = BigInt(up ? Math.ceil(x) : Math.floor(x));
  } else if (type.name === "decimal") {
    const unit = 10n ** BigInt(type.scale);
    return up ? -floorDiv(-x, unit) : floorDiv(x, unit);
  } else found = x;
  return found > LEAST && found <= MOST ? found : null;
}

function substr(x, start, length, type) {
  const units = type.name === "binary" ? x.split("") : [...x];
  const size = BigInt(units.length);
  const first = start > 0n ? start - 1n : start < 0n ? size + start : 0n;
  if (length <= 0n) return "";
  const bound = (at) => Number(at < 0n ? 0n : at > size ? size : at);
  return units.slice(bound(first), bound(first + length)).join("");
}

const patterns = new Map();

function like(x, pattern) {
  let found = patterns.get(pattern);
  if (!found) {
    let source = "";
    const characters = [...pattern];
    for (let i = 0; i < characters.length; i++) {
      const plain = characters[i] === "\\";
      const c = plain ? characters[++i] : characters[i];
      source += !plain && c === "%" ? ".*" : !plain && c === "_" ? "." : c.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    }
    found = new RegExp(`^(?:${source})$`, "su");
    patterns.set(pattern, found);
  }
  return found.test(x);
}

const WORD = 2n ** 64n - 1n;

function mixedWord(word) {
  word &= WORD;
  for (const shift of [32n, 29n]) word = ((word ^ (word >> shift)) * 0xd6e8feb86659fd93n) & WORD;
  return BigInt.asIntN(64, word ^ (word >> 32n));
}

function mixedLong(x) {
  const found = mixedWord(x);
  return found === LEAST ? mixedWord(LEAST) : found; // which no long is left for
}

/** A long that looks drawn at random and depends on nothing but the value. */
function mixed(x, type) {
  if (isInteger(type)) return mixedLong(x);
  const bytes = type.name === "binary" ? Uint8Array.from(x, (c) => c.charCodeAt(0)) : new TextEncoder().encode(x);
  let found = 0n;
  for (let start = 0; start < bytes.length; start += 8) {
    let part = 0n;
    for (let i = start; i < start + 8; i++) part = (part << 8n) | BigInt(bytes[i] ?? 0);
    found = mixedWord(found ^ part);
  }
  return mixedLong(found ^ BigInt(bytes.length));
}

const isDecimal = (types) => types.some((type) => type.name === "decimal");

/** Exact numbers of several scales, each as a whole number of the finest unit among them; null stays null. */
function atOneScale(types) {
  const scale = Math.max(...types.map((type) => type.scale));
  const units = types.map((type) => 10n ** BigInt(scale - type.scale));
  return (values) => values.map((value, i) => (value === null ? null : value * units[i]));
}

/** The function of exact numbers where they may have several scales. */
function exactly(fn, types) {
  if (!isDecimal(types) || types.every((type) => type.scale === types[0].scale)) return fn;
  const alike = atOneScale(types);
  return (...values) => fn(...alike(values));
}

function arithmetic(onExact, onFloats) {
  return (type, types, to) => {
    if (isFloat(type)) return (...x) => onFloats(...x) + 0;
    if (!isDecimal(types)) return (...x) => fitsLong(onExact(...x));
    const drop = Math.max(...types.map(({ scale }) => scale)) - to.scale;
    const fn = exactly(onExact, types);
    return (...x) => fitsDecimal(dropDigits(fn(...x), drop));
  };
}

function multiplied(type, types, to) {
  if (isFloat(type)) return (x, y) => x * y + 0;
  if (!isDecimal(types)) return (x, y) => fitsLong(x * y);
  const drop = types[0].scale + types[1].scale - to.scale;
  return (x, y) => fitsDecimal(dropDigits(x * y, drop));
}

/** Of decimals: the exact quotient, rounded once. */
function divided(type, types, to) {
  if (!isDecimal(types)) return (x, y) => (y === 0 ? null : x / y + 0);
  const power = to.scale + types[1].scale - types[0].scale;
  const [up, down] = power < 0 ? [1n, 10n ** BigInt(-power)] : [10n ** BigInt(power), 1n];
  return (x, y) => (y === 0n ? null : fitsDecimal(nearest(x * up, y * down)));
}

function dividedDown(type, types) {
  if (isFloat(type)) return (x, y) => (y === 0 ? null : floorDivFloat(x, y) + 0);
  return exactly((x, y) => (y === 0n ? null : fitsLong(floorDiv(x, y))), types);
}

function rest(type, types) {
  if (isFloat(type)) return (x, y) => (y === 0 ? null : (x % y) + 0);
  const fits = isDecimal(types) ? fitsDecimal : fitsLong;
  return exactly((x, y) => (y === 0n ? null : fits(x % y)), types);
}

const real = (fn) => () => (x) => fn(x) + 0;
const logarithm = (fn) => () => (x) => (x <= 0 ? null : fn(x) + 0);
const compared = (holds) => (type, types) => exactly((x, y) => holds(compareValues(x, y)), types);
const part = (name) => (type) => (x) => {
  if (["year", "month", "day"].includes(name)) return BigInt(civil(type.name === "date" ? x : floorDiv(x, DAY))[name]);
  return type.name === "date" ? 0n : BigInt(clockOf(x)[name]);
};

/** Operations that are null where any argument is: (type of the first argument, types, target) -> function of values. */
const STRICT = {
  add: arithmetic((x, y) => x + y, (x, y) => x + y),
  sub: arithmetic((x, y) => x - y, (x, y) => x - y),
  mul: multiplied,
  div: divided,
  floordiv: dividedDown,
  mod: rest,
  neg: arithmetic((x) => -x, (x) => -x),
  abs: arithmetic(magnitude, Math.abs),
  eq: compared((c) => c === 0),
  ne: compared((c) => c !== 0),
  lt: compared((c) => c < 0),
  le: compared((c) => c <= 0),
  gt: compared((c) => c > 0),
  ge: compared((c) => c >= 0),
  not: () => (x) => !x,
  sqrt: real(Math.sqrt),
  exp: real(Math.exp),
  log: logarithm(Math.log),
  log2: logarithm(Math.log2),
  log10: logarithm(Math.log10),
  pow: () => power,
  floor: (type) => (x) => longOrNull(x, type, false),
  ceil: (type) => (x) => longOrNull(x, type, true),
  round: (type) => (x, digits) => rounded(x, digits, type),
  sin: real(Math.sin),
  cos: real(Math.cos),
  tan: real(Math.tan),
  sign: () => (x) => Math.sign(x) + 0,
  mix: (type) => (x) => mixed(x, type),
  lower: () => (x) => x.toLowerCase(),
  upper: () => (x) => x.toUpperCase(),
  length: (type) => (x) => BigInt(type.name === "binary" ? x.length : [...x].length),
  substr: (type) => (x, start, length) => substr(x, start, length, type),
  concat: () => (...x) => x.join(""),
  contains: () => (x, y) => x.includes(y),
  starts_with: () => (x, y) => x.startsWith(y),
  ends_with: () => (x, y) => x.endsWith(y),
  like: () => like,
  trim: () => (x) => x.replace(/^ +| +$/g, ""),
  ltrim: () => (x) => x.replace(/^ +/, ""),
  rtrim: () => (x) => x.replace(/ +$/, ""),
  replace: () => (x, search, by) => (search ? x.split(search).join(by) : x),
  year: part("year"),
  month: part("month"),
  day: part("day"),
  hour: part("hour"),
  minute: part("minute"),
  second: part("second"),
  weekday: (type) => (x) => {
    const days = type.name === "date" ? x : floorDiv(x, DAY);
    return (((days + 3n) % 7n) + 7n) % 7n;
  },
  date_add: () => (x, days) => (x + days < FIRST_DAY || x + days > LAST_DAY ? null : x + days),
  date_diff: () => (x, y) => x - y,
};

/** Arithmetic that is null where it has no room. */
const tried = (op) => (...types) => {
  const fn = STRICT[op](...types);
  return (...values) => {
    try {
      return fn(...values);
    } catch (error) {
      if (error instanceof Refusal && error.kind === "NumberOverflow") return null;
      throw error;
    }
  };
};
Object.assign(STRICT, { try_add: tried("add"), try_subtract: tried("sub"), try_multiply: tried("mul"), try_divide: tried("div"), try_mod: tried("mod") });

function isIn(x, ...others) {
  if (x === null) return null;
  let unknown = false;
  for (const other of others) {
    if (other === null) unknown = true;
    else if (compareValues(x, other) === 0) return true;
  }
  return unknown ? null : false;
}

function extreme(wanted) {
  return (...values) => {
    let found = null;
    for (const value of values) {
      if (value !== null && (found === null || wanted(compareValues(value, found)))) found = value;
    }
    return found;
  };
}

/** Operations that see nulls. */
const SEEING = {
  eq_null_safe: (x, y) => (x === null || y === null ? x === y : compareValues(x, y) === 0),
  is_null: (x) => x === null,
  is_nan: (x) => x !== null && x !== x,
  is_in: isIn,
  greatest: extreme((c) => c > 0),
  least: extreme((c) => c < 0),
};

/** Operations that ask for their arguments one after the other. */
const IN_TURN = {
  and: (row, parts) => firstOr(row, parts, false),
  or: (row, parts) => firstOr(row, parts, true),
  coalesce(row, parts) {
    for (const part of parts) {
      const value = part(row);
      if (value !== null) return value;
    }
    return null;
  },
  when(row, parts) {
    for (let i = 0; i + 1 < parts.length; i += 2) if (parts[i](row) === true) return parts[i + 1](row);
    return parts[parts.length - 1](row);
  },
};

/** `decides` if any part is that, null if any is null, else its opposite. */
function firstOr(row, parts, decides) {
  let unknown = false;
  for (const part of parts) {
    const value = part(row);
    if (value === decides) return decides;
    unknown ||= value === null;
  }
  return unknown ? null : !decides;
}

const CLOCKS = new Set(["year", "month", "day", "hour", "minute", "second", "weekday"]);
const BY_ZONE = new Set(["timestamp date", "timestamp timestamp_ntz", "timestamp string", "date timestamp", "timestamp_ntz timestamp", "string timestamp"]);

/** Whether an operation reads clocks or a calendar off an instant, or makes an instant of them. */
function dependsOnZone({ call, args, type }) {
  if (call === "cast") return BY_ZONE.has(`${args[0].type} ${type}`);
  return CLOCKS.has(call) && args[0].type === "timestamp";
}

function refuseZone(zone) {
  if (zone === undefined || zone === null || zone === "UTC") return;
  throw new Refusal("PlanError", `The program reads the clocks of the time zone "${zone}", ${NO_ZONES}.`);
}

/** The calls in a plan's JSON, or a part of it. */
function callsIn(json) {
  if (json === null || typeof json !== "object") return [];
  const inside = Object.values(json).flatMap(callsIn);
  return "call" in json && Array.isArray(json.args) ? [json, ...inside] : inside;
}

/** An expression as a function of a row; `names` are the row's columns. */
function compiled(expr, names, types) {
  if ("column" in expr) {
    const at = names.indexOf(expr.column);
    return (row) => row[at];
  }
  const type = readType(expr.type);
  if ("literal" in expr) {
    const value = readValue(expr.literal, type);
    return () => value;
  }
  const parts = expr.args.map((arg) => compiled(arg, names, types));
  if (expr.call in IN_TURN) {
    const choose = IN_TURN[expr.call];
    return (row) => choose(row, parts);
  }
  const from = expr.args.map((arg) => readType(arg.type));
  if (dependsOnZone(expr)) refuseZone((expr.options ?? [])[expr.call === "cast" ? 1 : 0]);
  if (expr.call === "cast") return (row) => cast(parts[0](row), from[0], type);
  if (expr.call in SEEING) {
    const fn = exactly(SEEING[expr.call], from);
    return (row) => fn(...parts.map((part) => part(row)));
  }
  const trims = /^[lr]?trim$/.test(expr.call) && expr.args.length > 1; // of other letters than spaces
  if (trims || !(expr.call in STRICT)) {
    throw new Refusal("PlanError", `The plan computes "${expr.call}", which the explorer does not know.`);
  }
  const fn = STRICT[expr.call](from[0], from, type);
  return (row) => {
    const values = parts.map((part) => part(row));
    return values.includes(null) ? null : fn(...values);
  };
}

/** An expression as a function from a row to a value as records keep it. */
function rowFunction(expr, names, types) {
  const [fn, type] = [compiled(expr, names, types), readType(expr.type)];
  return "column" in expr ? fn : (row) => kept(fn(row), type);
}

// ---- collections ----------------------------------------------------------------------------

function addTo(rows, row, weight, key = keyOf(row)) {
  const there = rows.get(key);
  if (there === undefined) {
    if (weight !== 0n) rows.set(key, [row, weight]);
  } else if (there[1] + weight === 0n) rows.delete(key);
  else rows.set(key, [row, there[1] + weight]);
}

function sameRows(one, other) {
  if (one === other) return true;
  if (one.size !== other.size) return false;
  for (const [key, [, weight]] of one) {
    const there = other.get(key);
    if (there === undefined || there[1] !== weight) return false;
  }
  return true;
}

function minus(one, other) {
  const found = new Map(one);
  for (const [key, [row, weight]] of other) addTo(found, row, -weight, key);
  return found;
}

/** No row can be there more often than a word counts. */
function counted(rows) {
  for (const [, weight] of rows.values()) {
    if (magnitude(weight) > MOST) throw new Refusal("NumberOverflow", `A row would be there ${weight} times; at most ${MOST}.`);
  }
  return rows;
}

const precedes = (s, t) => s.every((c, i) => c <= t[i]);

// ---- reductions -----------------------------------------------------------------------------

/** Of [value, count] pairs in order, counts above zero: the value that so many values come before. */
function valueAt(present, rank) {
  for (const [value, count] of present) {
    if (rank < count) return value;
    rank -= count;
  }
  return null;
}

const howMany = (pairs) => pairs.reduce((count, [, weight]) => count + weight, 0n);

/** The value at a part of the way, between its two neighbours in proportion. */
function percentile(present, part) {
  const place = Number(howMany(present) - 1n) * part;
  const [low, high] = [Math.floor(place), Math.ceil(place)];
  const [before, behind] = [valueAt(present, BigInt(low)), valueAt(present, BigInt(high))];
  return compareValues(before, behind) === 0 ? before : (high - place) * before + (place - low) * behind;
}

/** By squaring: of many copies of a value, in the order in which the engine multiplies. */
function productOf(present) {
  let found = 1;
  for (let [value, count] of present) {
    let power = 1;
    for (; count; count >>= 1n, value *= value) if (count & 1n) power *= value;
    found *= power;
  }
  return found;
}

/** Null has the word of the least number. */
const bits = (fold) => (present) => {
  const found = present.reduce(fold, null);
  return found === LEAST ? null : found;
};

/** Of a group's [value, count] pairs in order, counts above zero, at least one. */
const OF_PRESENT = {
  count_distinct: (present) => BigInt(present.length),
  min: ([[least]]) => least,
  any_value: ([[least]]) => least,
  max: (present) => present[present.length - 1][0],
  percentile,
  percentile_disc: (present, part) => valueAt(present, BigInt(Math.max(Math.ceil(Number(howMany(present)) * part) - 1, 0))),
  mode: (present) => present.reduce((one, other) => (other[1] > one[1] ? other : one))[0],
  product: productOf,
  bit_and: bits((found, [value]) => (found === null ? value : found & value)),
  bit_or: bits((found, [value]) => (found === null ? value : found | value)),
  bit_xor: bits((found, [value, count]) => (found ?? 0n) ^ (count & 1n ? value : 0n)),
};
const ADDING = ["count_rows", "count", "sum", "avg"]; // follow from sums alone
const BY_ANOTHER = ["max_by", "min_by"];

/** The value in the row where another is largest or least; of several, the least. */
function valueBy(op, at, by, group) {
  const pairs = new Map();
  for (const [row, weight] of group) if (row[by] !== null) addTo(pairs, [row[at], row[by]], weight);
  const sign = op === "max_by" ? -1 : 1;
  const present = [...pairs.values()].filter(([, weight]) => weight > 0n).map(([pair]) => pair);
  present.sort((one, other) => sign * compareValues(one[1], other[1]) || compareOrder(one[0], other[0]));
  return present.length ? present[0][0] : null;
}

/** `asked` is a name, and a number where it has one: "percentile(0.9)". */
function aggregate(asked, at, type, group, by) {
  const [, op, part] = /^(\w+)(?:\((.*)\))?$/.exec(asked);
  if (op === "count_rows") return inRange(howMany(group));
  if (BY_ANOTHER.includes(op)) return valueBy(op, at, by, group);
  const weights = new Map();
  for (const [row, weight] of group) if (row[at] !== null) addTo(weights, [row[at]], weight);
  const pairs = [...weights.values()].map(([[value], weight]) => [value, weight]);
  if (op in OF_PRESENT) {
    const present = pairs.filter(([, weight]) => weight > 0n).sort(([x], [y]) => compareValues(x, y));
    if (!present.length) return op === "count_distinct" ? 0n : null;
    const found = OF_PRESENT[op](present, Number(part ?? 0));
    return typeof found === "number" ? found + 0 : found;
  }
  const count = howMany(pairs);
  if (op === "count") return inRange(count);
  if (count === 0n) return null; // as many rows taken away as there are
  if (isFloat(type)) return (op === "sum" ? exactSum(pairs) : exactSum(pairs) / Number(count)) + 0;
  const sum = pairs.reduce((total, [value, weight]) => total + value * weight, 0n);
  if (type.name === "decimal") {
    const more = Math.min(type.scale + 4, PRECISION) - type.scale; // digits behind the point that an average has
    return fitsDecimal(op === "sum" ? sum : nearest(sum * 10n ** BigInt(more), count));
  }
  return op === "sum" ? inRange(sum) : quotient(sum, count) + 0;
}

function grouped(rows, at) {
  const groups = new Map();
  for (const pair of rows.values()) {
    const key = at.map((i) => pair[0][i]);
    const name = keyOf(key);
    if (!groups.has(name)) groups.set(name, [key, []]);
    groups.get(name)[1].push(pair);
  }
  return groups.values();
}

function byAggregates(asked, schema, at) {
  const known = [...Object.keys(OF_PRESENT), ...ADDING, ...BY_ANOTHER];
  const other = asked.find(([op]) => !known.includes(op.split("(")[0]));
  if (other) {
    throw new Refusal("PlanError", `The plan computes the aggregate "${other[0]}", which the explorer does not know.`);
  }
  const columns = asked.map(([op, ...of]) => [op, schema.names.indexOf(of[0]), schema.names.indexOf(of[2])]);
  return (rows) => {
    const found = new Map();
    for (const [key, group] of grouped(rows, at)) {
      if (group.reduce((sum, [, weight]) => sum + weight, 0n) === 0n) continue;
      addTo(found, [...key, ...columns.map(([op, i, by]) => aggregate(op, i, schema.types[i], group, by))], 1n);
    }
    return found;
  };
}

function byTop(limit, order, schema, at) {
  const asked = order.map(([name, down]) => [schema.names.indexOf(name), down ? -1 : 1]);
  const rest = schema.names.map((_, i) => i).filter((i) => !at.includes(i));
  const place = ([x], [y]) => {
    for (const [i, sign] of asked) {
      const c = compareOrder(x[i], y[i]);
      if (c) return sign * c;
    }
    for (let i = 0; i < x.length; i++) {
      const c = compareOrder(x[i], y[i]);
      if (c) return c;
    }
    return 0;
  };
  return (rows) => {
    const found = new Map();
    for (const [key, group] of grouped(rows, at)) {
      let left = BigInt(limit);
      for (const [row, weight] of group.filter((pair) => pair[1] > 0n).sort(place)) {
        const copies = weight < left ? weight : left;
        if (copies === 0n) break;
        left -= copies;
        addTo(found, [...key, ...rest.map((i) => row[i])], copies);
      }
    }
    return found;
  };
}

// ---- windows --------------------------------------------------------------------------------

const MOST_COPIES = 100_000n; // of rows in one partition, each a row of its own

/** The number that a frame's end has: rows to count, or what to add to the order column. */
const readOffset = (entry) => (entry === null || typeof entry !== "object" ? entry : Number(entry.long ?? entry.float));

/** The rows of one key in the order of a window, every copy a row of its own. */
class Partition {
  constructor(schema, order, group) {
    this.schema = schema;
    this.order = order.map(([name, down, last]) => [schema.names.indexOf(name), down, last]);
    const present = group.filter(([, weight]) => weight > 0n);
    if (howMany(present) > MOST_COPIES) throw new Refusal("PlanError", `A window is over ${howMany(present)} rows, and the explorer computes at most ${MOST_COPIES}.`);
    present.sort(([x], [y]) => this.compare(this.keyOf(x), this.keyOf(y)) || x.map((value, i) => compareOrder(value, y[i])).find((c) => c) || 0);
    this.rows = present.flatMap(([row, weight]) => Array(Number(weight)).fill(row));
    this.keys = this.rows.map((row) => this.keyOf(row));
  }

  keyOf(row) {
    return this.order.map(([at]) => row[at]);
  }

  /** Two keys, as the window orders them. */
  compare(x, y) {
    for (const [k, [, down, last]] of this.order.entries()) {
      if (x[k] === null || y[k] === null) {
        if (x[k] !== y[k]) return (x[k] === null) === last ? 1 : -1;
        continue;
      }
      const c = compareValues(x[k], y[k]);
      if (c) return down ? -c : c;
    }
    return 0;
  }

  /** The key that lies so far behind that of row i. */
  bound(i, offset) {
    const [value] = this.keys[i];
    if (offset === 0 || value === null) return this.keys[i];
    const moved = this.order[0][1] ? -offset : offset;
    return [typeof value === "number" ? value + moved + 0 : value + BigInt(Math.trunc(moved))];
  }

  /** The rows that the function of row i is over. */
  frame(i, frame) {
    if (frame === null) return this.rows;
    const [start, end] = frame.slice(1).map(readOffset);
    if (frame[0] === "rows") return this.rows.slice(start === null ? 0 : Math.max(0, i + start), end === null ? undefined : Math.max(0, i + end + 1));
    const [from, to] = [start, end].map((offset) => (offset === null ? null : this.bound(i, offset)));
    return this.rows.filter((_, j) => (from === null || this.compare(this.keys[j], from) >= 0) && (to === null || this.compare(this.keys[j], to) <= 0));
  }

  /** What a function says of row i. */
  answer(i, { op, column, frame, number, default: other, skips_nulls: skips }) {
    const total = this.rows.length;
    const before = () => this.keys.filter((key) => this.compare(key, this.keys[i]) < 0);
    const at = this.schema.names.indexOf(column);
    switch (op) {
      case "row_number":
        return BigInt(i + 1);
      case "rank":
        return BigInt(before().length + 1);
      case "dense_rank":
        return BigInt(before().filter((key, n, all) => n === 0 || this.compare(all[n - 1], key) < 0).length + 1);
      case "percent_rank":
        return total > 1 ? before().length / (total - 1) : 0;
      case "cume_dist":
        return this.keys.filter((key) => this.compare(key, this.keys[i]) <= 0).length / total;
      case "ntile":
        return BigInt(this.tile(i, number));
      case "lead":
        return this.ahead(i, at, number, skips, this.schema.names.indexOf(other));
    }
    const rows = this.frame(i, frame);
    const values = () => rows.map((row) => row[at]).filter((value) => !(skips && value === null));
    switch (op) {
      case "first_value":
        return values()[0] ?? null;
      case "last_value":
        return values().pop() ?? null;
      case "nth_value":
        return values()[number - 1] ?? null;
    }
    if (!rows.length) return op === "count" || op === "count_rows" ? 0n : null;
    return aggregate(op, at, this.schema.types[at], rows.map((row) => [row, 1n]));
  }

  tile(i, tiles) {
    const [size, larger] = [Math.floor(this.rows.length / tiles), this.rows.length % tiles];
    const inLarger = larger * (size + 1);
    return i < inLarger ? Math.floor(i / (size + 1)) + 1 : larger + Math.floor((i - inLarger) / size) + 1;
  }

  /** The value so many rows ahead, or behind; or that of the row itself which stands for it. */
  ahead(i, at, number, skips, other) {
    let j = i;
    for (let left = Math.abs(number); left; ) {
      j += Math.sign(number);
      if (j < 0 || j >= this.rows.length) return other < 0 ? null : this.rows[i][other];
      if (!(skips && this.rows[j][at] === null)) left -= 1;
    }
    return this.rows[j][at];
  }
}

const OF_WINDOWS = ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lead", "first_value", "last_value", "nth_value", "min", "max", ...ADDING];

function byWindow({ order, functions }, schema, at) {
  const other = functions.find(({ op }) => !OF_WINDOWS.includes(op));
  if (other) throw new Refusal("PlanError", `The plan computes the window function "${other.op}", which the explorer does not know.`);
  const rest = schema.names.map((_, i) => i).filter((i) => !at.includes(i));
  return (rows) => {
    const found = new Map();
    for (const [key, group] of grouped(rows, at)) {
      const partition = new Partition(schema, order, group);
      partition.rows.forEach((row, i) => addTo(found, [...key, ...rest.map((c) => row[c]), ...functions.map((one) => partition.answer(i, one))], 1n));
    }
    return found;
  };
}

function distinct(rows) {
  const found = new Map();
  for (const [key, [row, weight]] of rows) if (weight > 0n) found.set(key, [row, 1n]);
  return found;
}

// ---- the plan -------------------------------------------------------------------------------

const OWN = "and a page in a browser has only the plan, not your code";

/** The nodes of a plan, each with what it does to its sources' collections. */
class Plan {
  constructor(json) {
    if (json.ebbflow_plan !== 1) throw new Refusal("PlanError", `This is no plan of version 1: it says ${json.ebbflow_plan}.`);
    this.coordinates = json.coordinates;
    this.loops = json.loops;
    this.nodes = json.nodes;
    this.next = new Map(json.next);
    this.functions = json.functions;
    this.schemas = json.nodes.map((node) => ({
      names: node.yields.map(([name]) => name),
      types: node.yields.map(([, type]) => readType(type)),
    }));
    if (callsIn(json.nodes).some(dependsOnZone)) refuseZone(json.timezone);
    this.does = json.nodes.map((node) => this.doing(node));
    this.turns = this.roundsThatMatter();
    this.needed = new Map();
    this.left = new Map();
    json.nodes.forEach((node, i) => {
      if (node.kind === "linear" && node.action.do === "leave") this.left.set(i, this.variablesOf(node.source, node.action.loop));
    });
  }

  sources(i) {
    const node = this.nodes[i];
    switch (node.kind) {
      case "input":
        return [];
      case "concat":
        return node.sources;
      case "join":
        return [node.left, node.right];
      case "feedback":
        return [node.start];
    }
    return [node.source];
  }

  isGiven(i) {
    const node = this.nodes[i];
    return node.kind === "input" || (node.kind === "linear" && node.action.do === "delay");
  }

  /** The nodes a node is computed from, itself included, back to what is given. */
  needs(i) {
    if (!this.needed.has(i)) {
      const found = new Set();
      const todo = [i];
      while (todo.length) {
        const at = todo.pop();
        if (found.has(at)) continue;
        found.add(at);
        if (this.isGiven(at)) continue;
        todo.push(...this.sources(at));
        if (this.next.has(at)) todo.push(this.next.get(at));
      }
      this.needed.set(i, found);
    }
    return this.needed.get(i);
  }

  reads(i) {
    return [...this.needs(i)].filter((at) => this.isGiven(at)).sort((a, b) => a - b);
  }

  variablesOf(source, loop) {
    return [...this.needs(source)].filter((i) => this.nodes[i].kind === "feedback" && this.nodes[i].loop === loop);
  }

  roundsThatMatter() {
    const loops = this.nodes.map(() => new Set());
    for (let grew = true; grew; ) {
      grew = false;
      this.nodes.forEach((node, i) => {
        const found = new Set(this.sources(i).flatMap((source) => [...loops[source]]));
        if (node.kind === "feedback") [node.loop, ...loops[this.next.get(i)]].forEach((loop) => found.add(loop));
        if (node.kind === "linear" && node.action.do === "wait") found.add(node.inside[node.inside.length - 1]);
        if (node.kind === "linear" && node.action.do === "leave") found.delete(node.action.loop);
        if (found.size !== loops[i].size) grew = true;
        loops[i] = found;
      });
    }
    return this.nodes.map((node, i) => node.inside.map((loop) => loops[i].has(loop)));
  }

  doing(node) {
    switch (node.kind) {
      case "linear":
        return this.linear(node.action, this.schemas[node.source]);
      case "concat":
        return (...parts) => {
          const found = new Map(parts[0]);
          for (const part of parts.slice(1)) for (const [key, [row, weight]] of part) addTo(found, row, weight, key);
          return found;
        };
      case "arrange":
      case "output":
        return (rows) => rows;
      case "join":
        return this.join(node);
      case "reduce":
        return this.reduce(node);
      case "input":
      case "feedback":
        return null; // the moment knows
    }
    throw new Refusal("PlanError", `The plan has a node of the kind "${node.kind}", which the explorer does not know.`);
  }

  linear(action, { names, types }) {
    switch (action.do) {
      case "map": {
        const columns = action.columns.map(([, expr]) => rowFunction(expr, names, types));
        return (rows) => {
          const found = new Map();
          for (const [row, weight] of rows.values()) addTo(found, columns.map((column) => column(row)), weight);
          return found;
        };
      }
      case "filter": {
        const keeps = rowFunction(action.condition, names, types);
        return (rows) => new Map([...rows].filter(([, [row]]) => keeps(row) === true));
      }
      case "negate":
        return (rows) => new Map([...rows].map(([key, [row, weight]]) => [key, [row, -weight]]));
      case "delay": {
        const coordinates = this.coordinates;
        const later = action.times.map((expr) => rowFunction(expr, coordinates, []));
        return (time) => later.map((fn) => Number(fn(time.map(BigInt))));
      }
      case "apply":
        throw new Refusal("PlanError", `The program calls the function "${this.functions[action.function]}", ${OWN}.`);
      case "enter":
      case "wait":
      case "leave":
      case "inspect":
        return (rows) => rows;
    }
    throw new Refusal("PlanError", `The plan does "${action.do}" to rows, which the explorer does not know.`);
  }

  join({ left, right, columns }) {
    const schemas = [this.schemas[left], this.schemas[right]];
    const keys = [left, right].map((side, s) => this.nodes[side].key.map((name) => schemas[s].names.indexOf(name)));
    const take = columns.map(([, side, name]) => [side, schemas[side].names.indexOf(name)]);
    return (lefts, rights) => {
      const index = new Map();
      for (const pair of rights.values()) {
        const key = keyOf(keys[1].map((i) => pair[0][i]));
        if (index.has(key)) index.get(key).push(pair);
        else index.set(key, [pair]);
      }
      const found = new Map();
      for (const [row, weight] of lefts.values()) {
        const key = keys[0].map((i) => row[i]);
        if (key.includes(null)) continue;
        for (const [other, times] of index.get(keyOf(key)) ?? []) {
          addTo(found, take.map(([side, i]) => (side ? other : row)[i]), weight * times);
        }
      }
      return found;
    };
  }

  reduce({ source, key, reducer }) {
    const schema = this.schemas[source];
    const at = key.map((name) => schema.names.indexOf(name));
    if (reducer.function !== undefined && reducer.function !== null) {
      throw new Refusal("PlanError", `The program calls the function "${this.functions[reducer.function]}", ${OWN}.`);
    }
    switch (reducer.by) {
      case "threshold":
        return distinct;
      case "aggregates":
        return byAggregates(reducer.aggregates, schema, at);
      case "top":
        return byTop(reducer.n, reducer.order, schema, at);
      case "window":
        return byWindow(reducer, schema, at);
    }
    throw new Refusal("PlanError", `The plan reduces by "${reducer.by}", which the explorer does not know.`);
  }
}

// ---- one time -------------------------------------------------------------------------------

/** All the collections of a plan at one time, given the collections of its inputs (and delays) there. */
class Moment {
  constructor(plan, given, patience) {
    Object.assign(this, { plan, given, patience });
    this.known = plan.nodes.map(() => new Map());
  }

  turning(i, rounds) {
    return rounds.map((r, k) => (this.plan.turns[i][k] ? r : 0));
  }

  at(i, rounds = []) {
    const turned = this.turning(i, rounds);
    const key = turned.join();
    let found = this.known[i].get(key);
    if (found === undefined) {
      found = counted(this.evaluated(i, turned));
      this.known[i].set(key, found);
    }
    return found;
  }

  evaluated(i, rounds) {
    const { plan } = this;
    const node = plan.nodes[i];
    if (plan.isGiven(i)) return this.given.get(i);
    const last = rounds[rounds.length - 1];
    if (node.kind === "feedback") {
      if (last === 0) return this.at(node.start, rounds);
      return this.at(plan.next.get(i), [...rounds.slice(0, -1), last - 1]);
    }
    if (node.kind === "linear") {
      switch (node.action.do) {
        case "enter":
          return this.at(node.source, rounds.slice(0, -1));
        case "wait": {
          const at = plan.schemas[node.source].names.indexOf(node.action.column);
          return new Map([...this.at(node.source, rounds)].filter(([, [row]]) => row[at] === null || row[at] <= BigInt(last)));
        }
        case "leave": {
          const r = this.lastRound(node.action.loop, plan.left.get(i), plan.needs(node.source), rounds);
          return this.at(node.source, [...rounds, r]);
        }
      }
    }
    return plan.does[i](...plan.sources(i).map((source) => this.at(source, rounds)));
  }

  /** The round after which none of the variables changes any more, or the loop's last one. */
  lastRound(loop, variables, needed, rounds) {
    const { max_rounds: limit, on_limit: onLimit } = this.plan.loops[loop];
    const coming = this.coming(needed, loop, rounds, limit);
    const latest = coming[coming.length - 1];
    const end = limit ?? latest + this.patience;
    for (let r = 0; r < end; ) {
      const inside = [...rounds, r];
      if (variables.some((v) => !sameRows(this.at(this.plan.next.get(v), inside), this.at(v, inside)))) r += 1;
      else if (latest <= r) return r;
      else {
        const then = coming.find((round) => round > r); // nothing changes before the next rows come
        for (const v of variables) this.known[v].set(this.turning(v, [...rounds, then]).join(), this.at(v, inside));
        r = then;
      }
    }
    if (limit === null || onLimit === "raise") {
      throw new Refusal("NeverSettles", `The loop still changes after ${limit ?? this.patience} rounds.`);
    }
    return limit - 1;
  }

  /** The rounds of a loop in which rows come into it, the first among them. */
  coming(needed, loop, rounds, limit) {
    const found = new Set([0]);
    for (const i of needed) {
      const node = this.plan.nodes[i];
      if (node.kind !== "linear" || node.action.do !== "wait" || node.inside[node.inside.length - 1] !== loop) continue;
      const at = this.plan.schemas[node.source].names.indexOf(node.action.column);
      for (const [row] of this.at(node.source, [...rounds, 0]).values()) if (row[at] !== null && row[at] > 0n) found.add(Number(row[at]));
    }
    return [...found].filter((r) => limit === null || r < limit).sort((a, b) => a - b);
  }
}

// ---- all times ------------------------------------------------------------------------------

/** Every combination of one value from each list, the last list's values next to each other. */
function product(lists) {
  return lists.reduce((found, values) => found.flatMap((start) => values.map((value) => [...start, value])), [[]]);
}

/** The plan's collections at all times, from its inputs' changes: {input: [[row, time, diff], ...]}. */
class Evaluation {
  constructor(plan, inputs, { patience = PATIENCE } = {}) {
    Object.assign(this, { plan, inputs, patience });
    this.histories = new Map();
    this.moments = new Map();
    this.byTime = new Map();
  }

  /** [row, time, weight] of an input or a delay. */
  history(i) {
    if (!this.histories.has(i)) {
      const node = this.plan.nodes[i];
      const { types } = this.plan.schemas[i];
      const found =
        node.rows !== undefined
          ? node.rows.map((row) => [row.map((v, c) => kept(readValue(v, types[c]), types[c])), this.plan.coordinates.map(() => 0), 1n])
          : node.kind === "input"
          ? (this.inputs[node.input] ?? []).map(([row, time, diff]) => [row.map((v, c) => kept(v, types[c])), time, BigInt(diff)])
          : this.changes(node.source).map(({ row, time, diff }) => [row, this.plan.does[i](time), diff]);
      this.histories.set(i, found.map(([row, time, diff]) => [row, time, diff, keyOf(row)]));
    }
    return this.histories.get(i);
  }

  /** For each coordinate of the inputs, the values at which a node can change, in order. */
  axes(i) {
    const times = this.plan.reads(i).flatMap((at) => this.history(at).map(([, time]) => time));
    return this.plan.coordinates.map((_, c) => [...new Set(times.map((time) => time[c]))].sort((a, b) => a - b));
  }

  moment(reads, time) {
    const asked = `${reads}@${time}`;
    let found = this.byTime.get(asked);
    if (found) return found;
    const given = new Map();
    let content = "";
    for (const i of reads) {
      const rows = new Map();
      for (const [row, then, diff, key] of this.history(i)) if (precedes(then, time)) addTo(rows, row, diff, key);
      given.set(i, rows);
      content += `${i}{${[...rows].map(([key, [, weight]]) => `${key}*${weight}`).sort().join(";")}}`;
    }
    found = this.moments.get(content); // equal inputs have equal meanings, whatever the time
    if (!found) {
      found = new Moment(this.plan, given, this.patience);
      this.moments.set(content, found);
    }
    this.byTime.set(asked, found);
    return found;
  }

  /** A node's collection at a time of the inputs, in these rounds of the loops around it. */
  at(i, time, rounds = []) {
    return this.moment(this.plan.reads(i), time).at(i, rounds);
  }

  /** How many rounds the loops around a node take at most, over these times; `most` bounds the answer. */
  rounds(i, axes, most = Infinity) {
    const { inside } = this.plan.nodes[i];
    const found = [];
    const reads = this.plan.reads(i);
    const times = product(axes);
    inside.forEach((loop, depth) => {
      const variables = this.plan.nodes.flatMap((node, v) => (node.kind === "feedback" && node.loop === loop ? [v] : []));
      const all = [...new Set([...reads, ...variables.flatMap((v) => this.plan.reads(v))])].sort((a, b) => a - b);
      const needed = new Set([i, ...variables].flatMap((v) => [...this.plan.needs(v)]));
      let last = 0;
      for (const time of times) {
        for (const rounds of product(found.slice(0, depth).map((count) => [...Array(count).keys()]))) {
          last = Math.max(last, this.moment(all, time).lastRound(loop, variables, needed, rounds));
          if (last + 1 >= most) break;
        }
      }
      found.push(Math.min(last + 1, most));
    });
    return found;
  }

  /** The changes of a node: [{row, time, diff}], where time holds the inputs' coordinates, then the rounds. */
  changes(i, { axes = this.axes(i), rounds = this.rounds(i, axes) } = {}) {
    const found = [];
    for (const [time, rows] of this.cells(i, axes, rounds)) for (const [row, diff] of rows.values()) found.push({ row, time, diff });
    return found;
  }

  /** [time, changes at exactly that time] for every time of a grid; `rounds` counts each loop's rounds. */
  cells(i, axes, rounds) {
    const reads = this.plan.reads(i);
    const inner = product(rounds.map((count) => [...Array(count).keys()]));
    const lists = [...axes, ...rounds.map((count) => [...Array(count).keys()])];
    const times = [];
    let rows = [];
    for (const time of product(axes)) {
      const moment = this.moment(reads, time);
      for (const r of inner) {
        times.push([...time, ...r]);
        rows.push(moment.at(i, r));
      }
    }
    let stride = times.length; // what sums up along every coordinate is taken apart along each in turn
    for (const { length } of lists) {
      stride /= length;
      rows = rows.map((here, n) => (Math.floor(n / stride) % length ? minus(here, rows[n - stride]) : here));
    }
    return times.map((time, n) => [time, rows[n]]);
  }
}

export { Plan, Evaluation, Moment, Refusal, readType, readValue, writeValue, parseValue, showValue, typeText, compareOrder, compiled, keyOf, precedes, product, quotient };
