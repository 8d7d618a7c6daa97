// Strings that nobody listed: a report about the first digits of a string, at a level that the client draws.

import { below } from "./coins.js";
import { keepChance, respond } from "./randomizers.js";

/** The randomizer of a design of strings; `parameters` are those of its mechanism. */
export class StringRandomizer {
  constructor({ alphabet, length, levels, weights, parameters }) {
    const characters = [...alphabet];
    this.places = new Map(characters.map((one, n) => [one, BigInt(n + 1)]));
    if (this.places.size !== characters.length) throw new RangeError("the alphabet must name each character once");
    this.base = BigInt(characters.length + 1);
    this.length = length;
    this.g = parameters.g;
    this.count = 1;
    for (let size = BigInt(this.g); size < this.base ** BigInt(length); size *= BigInt(this.g)) this.count += 1;
    if (levels.at(-1) !== this.count || levels.length !== weights.length || this.g > 251)
      throw new RangeError("the levels of the design do not fit its strings");
    this.levels = levels;
    this.weights = weights;
    this.keep = keepChance(parameters.epsilon, this.g);
    this.memory = null;
  }

  /** The digits of a string in base g, the leading one first. */
  digits(string) {
    const characters = typeof string === "string" ? [...string] : null;
    if (!characters || characters.length > this.length || !characters.every((one) => this.places.has(one)))
      throw new RangeError(`the string must have at most ${this.length} characters, all of them in the alphabet`);
    let number = 0n;
    for (let n = 0; n < this.length; n += 1) number = number * this.base + (this.places.get(characters[n]) ?? 0n);
    const digits = new Array(this.count);
    for (let n = this.count - 1; n >= 0; n -= 1, number /= BigInt(this.g)) digits[n] = Number(number % BigInt(this.g));
    return digits;
  }

  /** The report of a string, as bytes on the wire: level, bucket, vector. */
  report(string, stream) {
    const digits = this.digits(string);
    let drawn = below(
      this.weights.reduce((sum, one) => sum + one, 0),
      stream,
    );
    let level = 0;
    for (; drawn >= this.weights[level]; level += 1) drawn -= this.weights[level];
    const out = new Uint8Array(2 + this.count);
    let bucket = 0;
    for (let n = 0; n < this.count; n += 1) {
      const one = below(this.g, stream);
      out[2 + n] = n < this.levels[level] ? one : 0;
      bucket = (bucket + out[2 + n] * digits[n]) % this.g;
    }
    out[0] = level;
    out[1] = respond(this.keep, this.g, bucket, stream);
    return out;
  }
}
