// Draws many reports of each case on standard input and prints how often each came: the test computes the chi-squares.

import { readFileSync } from "node:fs";

import { CryptoStream, Randomizer, StringRandomizer, answeredDays, readDesign, readMechanism } from "../src/index.js";

const stream = new CryptoStream();
const hexOf = (bytes) => Buffer.from(bytes).toString("hex");

function drawer({ mechanism, k, value, collections, rounds, answered, design }) {
  if (design) {
    const strings = new StringRandomizer(readDesign(JSON.stringify(design)).strings);
    return () => hexOf(strings.report(value, stream));
  }
  if (rounds) return () => answeredDays(rounds, answered, stream).join(" ");
  const randomizer = new Randomizer(readMechanism(mechanism), k);
  if (!collections) return () => hexOf(randomizer.report(value, stream));
  return () => {
    const memory = randomizer.remember(value, stream);
    return Array.from({ length: collections }, () => hexOf(randomizer.repeat(memory, stream))).join("");
  };
}

const found = JSON.parse(readFileSync(0, "utf8")).map((one) => {
  const draw = drawer(one);
  const counts = {};
  for (let n = 0; n < one.draws; n += 1) {
    const outcome = draw();
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
});
process.stdout.write(JSON.stringify(found));
