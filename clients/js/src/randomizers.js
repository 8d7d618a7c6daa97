// Each local randomizer as coins over a stream of bytes, and its report as bytes on the wire. Which bytes of the stream
// are read does not depend on the value: what a randomizer may need it always draws.

import { Chance, below, distinctBelow } from "./coins.js";
import { Power, bitLength, ratio } from "./exact.js";

const bytesFor = (outputs) => Math.max(1, (bitLength(outputs - 1n) + 7) >> 3);
export const keepChance = (epsilon, k) => new Chance(1n, 1n, -1n, BigInt(k) - 1n, new Power(epsilon));

export function respond(keep, k, value, stream) {
  const kept = keep.flip(stream);
  const fresh = below(k, stream);
  return kept ? value : fresh;
}

function unary(p, q, k) {
  return (value, stream) => {
    const bits = new Uint8Array(k);
    for (let n = 0; n < k; n += 1) bits[n] = q.flip(stream) ? 1 : 0;
    bits[value] = p.flip(stream) ? 1 : 0;
    return bits;
  };
}

function digitCount(k, g) {
  let count = 1;
  for (let size = BigInt(g); size < BigInt(k); size *= BigInt(g)) count += 1;
  return count;
}

function odd(n) {
  for (const shift of [16, 8, 4, 2, 1]) n ^= n >>> shift;
  return n & 1;
}

function hadamard({ epsilon, blocks = 1 }, k) {
  if (k > 2 ** 30) throw new RangeError(`k (${k}) must be at most 2^30 for Hadamard response in this client`);
  const width = 2 ** bitLength(BigInt(Math.ceil(k / blocks)));
  const told = new Chance(1n, 1n, -1n, BigInt(2 * blocks - 1), new Power(epsilon));
  const draw = (value, stream) => {
    const block = Math.floor(value / (width - 1));
    const row = (value % (width - 1)) + 1;
    const telling = told.flip(stream);
    const fresh = below(width * blocks, stream);
    let column = below(width, stream);
    if (odd(row & column)) column ^= row & -row;
    return [telling ? block * width + column : fresh];
  };
  return { draw, width: bytesFor(BigInt(width * blocks)) };
}

// a b mod g: below 2^26 the product is exact in doubles
const product = (a, b, g) => (g <= 2 ** 26 ? (a * b) % g : Number((BigInt(a) * BigInt(b)) % BigInt(g)));

function hashing({ epsilon, g }, k) {
  if (g >= 2 ** 31) throw new RangeError(`g (${g}) must be below 2^31 in this client`);
  const digits = digitCount(k, g);
  const keep = keepChance(epsilon, g);
  const draw = (value, stream) => {
    const vector = [];
    let bucket = 0;
    for (let n = 0, rest = value; n < digits; n += 1) {
      vector.push(below(g, stream));
      bucket = (bucket + product(vector[n], rest % g, g)) % g;
      rest = Math.floor(rest / g);
    }
    const z = respond(keep, g, bucket, stream);
    let report = 0n;
    for (const one of vector.reverse()) report = report * BigInt(g) + BigInt(one);
    return [report * BigInt(g) + BigInt(z)];
  };
  return { draw, width: bytesFor(BigInt(g) ** BigInt(digits + 1)) };
}

function window(epsilon, steps, width) {
  const inside = new Chance(width, width, 0n, steps, new Power(epsilon));
  return (value, stream) => {
    const heads = inside.flip(stream);
    const within = below(width, stream);
    const beyond = below(steps, stream);
    return heads ? value + within : beyond + (beyond >= value ? width : 0);
  };
}

/**
 * A point 0 .. steps of the grid next to a number of the range from low to high, rounded up or down by 64 random bits.
 * All are rationals; a double is taken as exactly what it is.
 */
export function gridPoint(number, { low, high, steps }, stream) {
  const scale = number.bottom * low.bottom * high.bottom;
  const above = number.top * low.bottom * high.bottom - low.top * number.bottom * high.bottom;
  const reach = high.top * number.bottom * low.bottom - low.top * number.bottom * high.bottom;
  if (scale <= 0n || above < 0n || above > reach) throw new RangeError("the number must lie in the range of the design");
  const scaled = ((above * BigInt(steps)) << 64n) / reach;
  let drawn = 0n;
  for (let n = 0; n < 8; n += 1) drawn = (drawn << 8n) | BigInt(stream.next());
  return Number(scaled >> 64n) + (drawn < (scaled & (2n ** 64n - 1n)) ? 1 : 0);
}

const KINDS = {
  RandomizedResponse({ epsilon }, k) {
    const keep = keepChance(epsilon, k);
    return { draw: (value, stream) => [respond(keep, k, value, stream)], width: bytesFor(BigInt(k)) };
  },
  BinaryRandomizedResponse({ p, q }) {
    const chances = [Chance.of(q), Chance.of(p)];
    const draw = (value, stream) => [chances.map((one) => one.flip(stream))[value] ? 1 : 0];
    return { draw, width: 1 };
  },
  RAPPOR({ epsilon }, k) {
    const x = new Power(epsilon, { half: true });
    return { draw: unary(new Chance(1n, 1n, 0n, 1n, x), new Chance(0n, 1n, 1n, 1n, x), k), width: null };
  },
  UnaryEncoding({ p, q }, k) {
    return { draw: unary(Chance.of(p), Chance.of(q), k), width: null };
  },
  OptimizedUnaryEncoding({ epsilon }, k) {
    const q = new Chance(0n, 1n, 1n, 1n, new Power(epsilon));
    return { draw: unary(new Chance(1n, 2n), q, k), width: null };
  },
  SubsetSelection({ epsilon, size }, k) {
    const held = new Chance(size, size, 0n, k - size, new Power(epsilon));
    const draw = (value, stream) => {
      const inside = held.flip(stream);
      const others = distinctBelow(k - 1, size, stream).map((one) => (one >= value ? one + 1 : one));
      const replaced = below(size, stream);
      if (inside) others[replaced] = value;
      return others.sort((a, b) => a - b);
    };
    return { draw, width: bytesFor(BigInt(k)) };
  },
  HadamardResponse: hadamard,
  SquareWave({ epsilon, steps, width }) {
    const draw = window(epsilon, steps, width);
    return { draw: (value, stream) => [draw(value, stream)], width: bytesFor(BigInt(steps + width)) };
  },
  HybridResponse({ epsilon, steps, width, share }) {
    const choice = Chance.of(share);
    const whole = window(epsilon, steps, width);
    const bit = window(epsilon, 1, 1);
    const draw = (value, stream) => {
      const chosen = choice.flip(stream);
      const end = below(steps, stream) < value ? 1 : 0;
      const told = bit(end, stream);
      const cell = whole(value, stream);
      return [chosen ? cell : steps + width + told];
    };
    return { draw, width: bytesFor(BigInt(steps + width + 2)) };
  },
  LinearHashing: hashing,
  LocalHashing(parameters, k) {
    if (parameters.random_hash !== true) throw new RangeError("a fixed hash does not tell colliding values apart");
    return hashing(parameters, k);
  },
  MemoizedRAPPOR({ f, p, q }, k) {
    const wrong = ratio(f.top, 2n * f.bottom);
    const right = ratio(wrong.bottom - wrong.top, wrong.bottom);
    const chances = [Chance.of(p), Chance.of(q)];
    const draw = (memory, stream) => {
      const bits = new Uint8Array(k);
      for (let n = 0; n < k; n += 1) {
        const drawn = chances.map((one) => one.flip(stream));
        bits[n] = drawn[(memory[n >> 3] >> (7 - (n & 7))) & 1] ? 1 : 0;
      }
      return bits;
    };
    return { draw, width: null, memory: unary(Chance.of(right), Chance.of(wrong), k) };
  },
};

/** A local randomizer on the values 0 .. k-1; `name` and `parameters` are those of a design. */
export class Randomizer {
  constructor({ name, parameters }, k) {
    if (!Object.hasOwn(KINDS, name)) throw new RangeError(`${name} is not a randomizer that this client knows`);
    const own = name === "BinaryRandomizedResponse" ? 2 : parameters.steps ? parameters.steps + 1 : parameters.k;
    if (!Number.isSafeInteger(k) || k < 2 || k > 2 ** 31) throw new RangeError(`k (${k}) must be from 2 to 2^31`);
    if (own !== undefined && own !== k) throw new RangeError(`k (${k}) must be the ${own} of the mechanism`);
    this.k = k;
    const kind = KINDS[name](parameters, k);
    this.draw = kind.draw;
    this.width = kind.width;
    this.memory = kind.memory ?? null;
  }

  /** The report of a value, as bytes on the wire. */
  report(value, stream) {
    if (this.memory) throw new TypeError("this randomizer reports what remember() drew once: call repeat()");
    return this.#written(this.draw(this.#checked(value), stream));
  }

  /** The permanent bits of RAPPOR with memory, packed: drawn once for a client, and as secret as the value. */
  remember(value, stream) {
    if (!this.memory) throw new TypeError("this randomizer has nothing to remember");
    return this.#written(this.memory(this.#checked(value), stream));
  }

  /** The report of one collection of RAPPOR with memory, from the permanent bits. */
  repeat(memory, stream) {
    if (!this.memory) throw new TypeError("this randomizer has nothing to remember");
    if (memory.length !== (this.k + 7) >> 3) throw new RangeError(`memory must have ${(this.k + 7) >> 3} bytes`);
    return this.#written(this.draw(memory, stream));
  }

  #checked(value) {
    if (!Number.isSafeInteger(value) || value < 0 || value >= this.k)
      throw new RangeError(`the value must be a whole number from 0 to ${this.k - 1}`);
    return value;
  }

  #written(numbers) {
    if (this.width === null) {
      const packed = new Uint8Array((this.k + 7) >> 3);
      numbers.forEach((bit, n) => (packed[n >> 3] |= bit << (7 - (n & 7))));
      return packed;
    }
    const out = new Uint8Array(numbers.length * this.width);
    numbers.forEach((number, n) => {
      let rest = BigInt(number);
      for (let place = 0; place < this.width; place += 1, rest >>= 8n) out[n * this.width + place] = Number(rest & 255n);
    });
    return out;
  }
}
