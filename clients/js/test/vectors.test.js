// Every vector that the library made: the same bytes are read, in the same order, and give the same report.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Chance, Power, Randomizer, StringRandomizer, answeredDays, below, gridPoint, readDesign, readMechanism } from "../src/index.js";
import { rationalOfDouble, rationalOfText, realOfText } from "../src/exact.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors.json", import.meta.url), "utf8"));

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** A stream of these bytes, which must be read to their end and no further. */
function scripted(hex) {
  const bytes = bytesOf(hex);
  let at = 0;
  return {
    next() {
      assert.ok(at < bytes.length, "more bytes are read than by the library");
      return bytes[at++];
    },
    done: () => assert.equal(at, bytes.length, "fewer bytes are read than by the library"),
  };
}

function check(name, rows, draw) {
  test(`${name}: ${rows.length} vectors`, () => {
    assert.ok(rows.length > 0);
    for (const row of rows) {
      const stream = scripted(row.bytes);
      assert.deepEqual(draw(row, stream), row.result, JSON.stringify(row));
      stream.done();
    }
  });
}

test(`digits: ${vectors.digits.length} vectors`, () => {
  for (const { epsilon, half, form, digits } of vectors.digits) {
    const [a, b, c, d] = form;
    const chance = new Chance(a, c, b, d, new Power(realOfText(epsilon), { half }));
    assert.equal(hexOf(bytesOf(digits).map((_, n) => chance.digit(n))), digits, `${epsilon} ${form} ${half}`);
  }
});

const randomizer = (row) => new Randomizer(readMechanism(row.mechanism), row.k);

check("below", vectors.below, (row, stream) => below(row.n, stream));
check("rounds", vectors.rounds, (row, stream) => answeredDays(row.rounds, row.answered, stream));
check("reports", vectors.reports, (row, stream) => hexOf(randomizer(row).report(row.value, stream)));
check("strings", vectors.strings, (row, stream) =>
  hexOf(new StringRandomizer(readDesign(JSON.stringify(row.design)).strings).report(row.value, stream)),
);
check("grid", vectors.grid, ({ number, low, high, steps }, stream) =>
  gridPoint(rationalOfDouble(number), { low: rationalOfText(low), high: rationalOfText(high), steps }, stream),
);
check("memory", vectors.memory, (row, stream) => hexOf(randomizer(row).remember(row.value, stream)));

test(`collections from memory: ${vectors.memory.length} vectors`, () => {
  for (const row of vectors.memory) {
    const stream = scripted(row.report_bytes);
    assert.equal(hexOf(randomizer(row).repeat(bytesOf(row.result), stream)), row.report);
    stream.done();
  }
});
