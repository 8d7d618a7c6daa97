// Exact numbers: rationals of BigInt, logarithms of rationals, and e to a rational power enclosed by integers.

/** A rational in lowest terms, { top, bottom }, with bottom > 0n. */
export function ratio(top, bottom = 1n) {
  if (bottom === 0n) throw new RangeError("a ratio needs a denominator that is not 0");
  const sign = bottom < 0n ? -1n : 1n;
  const common = gcd(top < 0n ? -top : top, bottom * sign) || 1n;
  return { top: (sign * top) / common, bottom: (sign * bottom) / common };
}

function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

export const floorDivide = (a, b) => (a >= 0n ? a / b : -((-a + b - 1n) / b)); // b > 0n
export const ceilDivide = (a, b) => -floorDivide(-a, b);

export function bitLength(n) {
  return n === 0n ? 0 : n.toString(2).length;
}

/** The exact value of a decimal or a fraction as a person writes it: "0.1" is one tenth. */
export function rationalOfText(text) {
  const parts = /^\s*([+-]?\d+)\s*\/\s*(\d+)\s*$/.exec(text);
  if (parts) return ratio(BigInt(parts[1]), BigInt(parts[2]));
  const decimal = /^\s*([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,4}))?\s*$/.exec(text);
  if (!decimal || !(decimal[2] || decimal[3])) throw new RangeError(`${text} is not a number that this client reads`);
  const [, sign, whole, part, exponent] = decimal;
  const shift = Number(exponent ?? 0) - part.length;
  const digits = BigInt((sign === "-" ? "-" : "") + (whole + part || "0"));
  return shift >= 0 ? ratio(digits * 10n ** BigInt(shift)) : ratio(digits, 10n ** BigInt(-shift));
}

/** The exact binary value of a double: 0.1 is 3602879701896397/2^55. */
export function rationalOfDouble(number) {
  if (!Number.isFinite(number)) throw new RangeError(`${number} must be finite`);
  let scale = 1n;
  while (!Number.isInteger(number)) {
    number *= 2; // exact: no double loses a bit when doubled
    scale *= 2n;
  }
  return ratio(BigInt(number), scale);
}

/** { rational } or { log: rational }: the text of an epsilon, such as 1.5, 1/3 or log(3). */
export function realOfText(text) {
  const log = /^\s*(?:log|ln)\((.*)\)\s*$/s.exec(text);
  return log ? { log: rationalOfText(log[1]) } : { rational: rationalOfText(text) };
}

export function integerRoot(n) {
  if (n < 2n) return n;
  let x = 1n << BigInt((bitLength(n) + 1) >> 1);
  for (;;) {
    const y = (x + n / x) >> 1n;
    if (y >= x) return x;
    x = y;
  }
}

/** x = e^-epsilon, or e^-(epsilon/2): a rational (`exact`), or irrational and enclosed by `around`. */
export class Power {
  constructor(epsilon, { half = false } = {}) {
    this.exact = null;
    this.square = this.exponent = null;
    if (epsilon.rational) {
      const { top, bottom } = epsilon.rational;
      if (top <= 0n) throw new RangeError("epsilon must be positive");
      this.exponent = half ? ratio(top, 2n * bottom) : epsilon.rational;
      return;
    }
    const square = ratio(epsilon.log.bottom, epsilon.log.top);
    if (square.top <= 0n || square.top >= square.bottom) throw new RangeError("epsilon must be positive");
    this.square = square;
    if (!half) {
      this.exact = square;
    } else {
      const root = ratio(integerRoot(square.top), integerRoot(square.bottom));
      const same = root.top ** 2n === square.top && root.bottom ** 2n === square.bottom;
      this.exact = same ? root : null;
    }
  }

  /** Integers strictly below and strictly above x 2^bits, for an irrational x. */
  around(bits) {
    if (this.square) {
      const low = integerRoot((this.square.top << BigInt(2 * bits)) / this.square.bottom);
      return [low, low + 1n];
    }
    return exponential(this.exponent, bits);
  }
}

// The series of e^-t for t = exponent/2^halvings <= 1/2, between sums that follow each other, then squarings; each step
// rounds outwards.
function exponential({ top, bottom }, bits) {
  const halvings = bitLength(top / bottom) + 1;
  const divisor = bottom << BigInt(halvings);
  const fine = BigInt(bits + halvings + 16);
  let [low, high, below, above] = [0n, 0n, 1n << fine, 1n << fine];
  for (let n = 0n; above > 1n; ) {
    [low, high] = n % 2n === 0n ? [low + below, high + above] : [low - above, high - below];
    n += 1n;
    below = (below * top) / (divisor * n);
    above = ceilDivide(above * top, divisor * n);
  }
  high += above;
  low -= above;
  for (let n = 0; n < halvings; n += 1) {
    low = low > 0n ? (low * low) >> fine : 0n;
    high = ceilDivide(high * high, 1n << fine);
  }
  const shift = fine - BigInt(bits);
  return [(low >> shift) - 1n, (high >> shift) + 1n];
}
