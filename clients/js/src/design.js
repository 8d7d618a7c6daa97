// The design file that `zcdp choose --client` writes, and the text of its mechanism.

import { rationalOfDouble, rationalOfText, realOfText } from "./exact.js";

const FORMAT = "zcdp client design 1";
const STRINGS = "zcdp client strings 1";

/** What a client needs of a design: mechanism, k, names of values, days and how many of them it answers. */
export function readDesign(text) {
  const said = JSON.parse(text);
  if (said.format === STRINGS) return readStrings(said);
  if (said.format !== FORMAT) throw new SyntaxError(`the design is of the format ${said.format}, not ${FORMAT}`);
  const { k, values = null, number = null, report, randomness, days } = said;
  const { of, answered, drawn } = days;
  for (const [name, size] of Object.entries({ k, of, answered, bytes: report.bytes }))
    if (!Number.isSafeInteger(size) || size < 1) throw new RangeError(`${name} (${size}) must be a positive whole number`);
  if (drawn !== "uniform subset") throw new RangeError(`days that are drawn as ${drawn} are not known to this client`);
  if (answered > of) throw new RangeError(`answered (${answered}) must be at most the ${of} days`);
  if (values && values.length !== k) throw new RangeError(`${values.length} names of values must be as many as k (${k})`);
  const range = number && readRange(number, k);
  const mechanism = readMechanism(said.mechanism);
  const remembered = mechanism.name === "MemoizedRAPPOR";
  if (randomness !== (remembered ? "remembered" : "fresh")) throw new RangeError(`randomness (${randomness}) is not known`);
  if (remembered && answered > mechanism.parameters.collections)
    throw new RangeError(`answered (${answered}) must be at most the ${mechanism.parameters.collections} collections`);
  return { mechanism, k, values, range, of, answered, bytes: report.bytes };
}

function readRange({ low, high, steps }, k) {
  if (steps !== k - 1) throw new RangeError(`steps (${steps}) must be one less than k (${k})`);
  const range = { low: rationalOfText(String(low)), high: rationalOfText(String(high)), steps };
  if (range.low.top * range.high.bottom >= range.high.top * range.low.bottom)
    throw new RangeError(`low (${low}) must be below high (${high})`);
  return range;
}

/** A design of strings that nobody listed: one report of each client, on one day. */
function readStrings({ mechanism, alphabet, length, levels, weights, report, randomness }) {
  const { name, parameters } = readMechanism(mechanism);
  if (name !== "LocalHashing" || parameters.random_hash !== true) throw new RangeError(`${mechanism} is not known here`);
  if (randomness !== "fresh") throw new RangeError(`randomness (${randomness}) is not known`);
  for (const size of [length, ...levels, ...weights])
    if (!Number.isSafeInteger(size) || size < 1) throw new RangeError("a design has positive whole numbers");
  const strings = { alphabet, length, levels, weights, parameters };
  return { strings, values: null, of: 1, answered: 1, bytes: report.bytes };
}

const INTEGERS = new Set(["k", "g", "size", "blocks", "collections", "steps", "width"]);
const RATIONALS = new Set(["p", "q", "f", "share"]);

/** { name, parameters } of a text such as RandomizedResponse(epsilon='8.00000108', k=256). */
export function readMechanism(text) {
  const call = /^\s*([A-Za-z]+)\((.*)\)\s*$/s.exec(text ?? "");
  if (!call) throw new SyntaxError(`${text} is not a mechanism`);
  const parameters = {};
  const rest = /\s*([a-z_]+)\s*=\s*('[^']*'|"[^"]*"|[^,'"()]+)\s*(?:,|$)/gy;
  while (rest.lastIndex < call[2].length) {
    const found = rest.exec(call[2]);
    if (!found) throw new SyntaxError(`${text} has a parameter that this client does not read`);
    const [, name, value] = found;
    if (Object.hasOwn(parameters, name)) throw new SyntaxError(`${text} has ${name} twice`);
    parameters[name] = readParameter(name, value.trim());
  }
  return { name: call[1], parameters };
}

function readParameter(name, value) {
  if (value === "True" || value === "False") return value === "True";
  const quoted = /^['"](.*)['"]$/s.exec(value);
  if (INTEGERS.has(name)) {
    const number = Number(quoted ? quoted[1] : value);
    if (!Number.isSafeInteger(number)) throw new RangeError(`${name} (${value}) must be a whole number`);
    return number;
  }
  if (RATIONALS.has(name)) return quoted ? rationalOfText(quoted[1]) : rationalOfNumber(name, value);
  if (name === "epsilon") return quoted ? realOfText(quoted[1]) : { rational: rationalOfNumber(name, value) };
  throw new SyntaxError(`${name} is not a parameter that this client knows`);
}

// A number without quotes is the binary value of the double, as Python reads it; whole numbers are exact.
function rationalOfNumber(name, value) {
  if (/^[+-]?\d+$/.test(value)) return { top: BigInt(value), bottom: 1n };
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value)) throw new RangeError(`${name} (${value}) must be a number`);
  return rationalOfDouble(Number(value));
}
