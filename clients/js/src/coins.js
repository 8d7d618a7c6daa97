// Exact coins and uniform numbers from a stream of random bytes, as docs/reference/wire-format.md specifies them.

import { bitLength, ceilDivide, floorDivide, ratio } from "./exact.js";

/** The bytes of WebCrypto, one after another; a pool of 4096 is filled anew when it is used up. */
export class CryptoStream {
  #pool = new Uint8Array(4096);
  #at = this.#pool.length;

  next() {
    if (this.#at === this.#pool.length) {
      globalThis.crypto.getRandomValues(this.#pool);
      this.#at = 0;
    }
    const byte = this.#pool[this.#at];
    this.#pool[this.#at] = 0; // what was used is not kept
    this.#at += 1;
    return byte;
  }
}

/** The probability (a + b x)/(c + d x), by its digits in base 256; without x it is a/c. */
export class Chance {
  #digits = [];

  constructor(a, c, b = 0n, d = 0n, x = null) {
    [this.a, this.b, this.c, this.d] = [a, b, c, d].map(BigInt);
    this.x = x;
    this.rational = null;
    if (!x) this.rational = ratio(this.a, this.c);
    if (x?.exact) {
      const { top, bottom } = x.exact;
      this.rational = ratio(this.a * bottom + this.b * top, this.c * bottom + this.d * top);
    }
  }

  static of({ top, bottom }) {
    return new Chance(top, bottom);
  }

  /** Digit n of p in base 256, from 0. */
  digit(n) {
    while (this.#digits.length <= n) this.#digits.push(Number(this.#floor(this.#digits.length + 1) & 255n));
    return this.#digits[n];
  }

  #floor(n) {
    const scale = 1n << BigInt(8 * n);
    if (this.rational) return floorDivide(this.rational.top * scale, this.rational.bottom);
    for (let bits = 8 * n + 64; ; bits *= 2) {
      const unit = 1n << BigInt(bits);
      const ends = this.x.around(bits).map((end) => {
        const x = end < 0n ? 0n : end > unit ? unit : end;
        return { top: this.a * unit + this.b * x, bottom: this.c * unit + this.d * x };
      });
      if (ends[0].top * ends[1].bottom > ends[1].top * ends[0].bottom) ends.reverse();
      const least = floorDivide(ends[0].top * scale, ends[0].bottom);
      const most = ceilDivide(ends[1].top * scale, ends[1].bottom) - 1n; // p is strictly below the upper end
      if (least === most) return least;
    }
  }

  /** True with probability exactly p: the first byte that is no digit of p decides. */
  flip(stream) {
    for (let n = 0; ; n += 1) {
      const byte = stream.next();
      const digit = this.digit(n);
      if (byte !== digit) return byte < digit;
    }
  }
}

/** A uniform integer in 0 .. n-1, n a safe integer: as many bits as n-1 has, and again if it is too large. */
export function below(n, stream) {
  if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`n (${n}) must be a positive safe integer`);
  const size = bitLength(BigInt(n - 1));
  const count = (size + 7) >> 3;
  const first = 2 ** (size - 8 * (count - 1)); // the first byte has this many values
  while (count) {
    let drawn = stream.next() % first;
    for (let more = 1; more < count; more += 1) drawn = drawn * 256 + stream.next();
    if (drawn < n) return drawn;
  }
  return 0;
}

/** A set of `count` different numbers of 0 .. n-1 in rising order; every set is equally likely. */
export function distinctBelow(n, count, stream) {
  if (2 * count > n) {
    const left = new Set(distinctBelow(n, n - count, stream));
    return Array.from({ length: n }, (_, one) => one).filter((one) => !left.has(one));
  }
  const seen = new Set();
  while (seen.size < count) seen.add(below(n, stream));
  return [...seen].sort((a, b) => a - b);
}

/** Which of the days 1 .. of a client answers: a uniform set. */
export function answeredDays(of, answered, stream) {
  return distinctBelow(of, answered, stream).map((one) => one + 1);
}
