// What a client keeps, and what it refuses.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { AlreadyDrawn, Client, MemoryStorage, OtherDesign, readDesign, readMechanism } from "../src/index.js";
import { FileStorage } from "../src/file_storage.js";

const NAMES = ["tea", "coffee", 'water "still"', "none"];

const design = ({ of = 30, answered = 3, mechanism = "RandomizedResponse(epsilon='1.5', k=4)", ...more } = {}) =>
  JSON.stringify({
    format: "zcdp client design 1",
    mechanism,
    k: 4,
    values: NAMES,
    number: null,
    days: { of, answered, drawn: "uniform subset" },
    report: { numbers: 1, bytes_each: 1, bytes: 1, outcomes: 4 },
    randomness: "fresh",
    shuffled: null,
    budget: { epsilon: "8", delta: "1e-6" },
    ...more,
  });

const open = (text, storage, name = "drinks") => Client.open(text, { storage, name });

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), "zcdp-client-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const kinds = { memory: async (work) => work(new MemoryStorage()), files: (work) => inFolder((folder) => work(new FileStorage(folder))) };

for (const [name, within] of Object.entries(kinds)) {
  test(`it answers its days once, kept in ${name}`, () =>
    within(async (storage) => {
      const client = await open(design(), storage);
      const days = await client.days();
      assert.equal(days.length, 3);
      let sent = 0;
      for (let day = 1; day <= 30; day += 1) {
        const message = await client.report(day, "tea");
        assert.equal(message !== null, days.includes(day));
        if (!message) continue;
        sent += 1;
        assert.deepEqual(Object.keys(message), ["zcdp", "design", "day", "id", "report"]);
        assert.match(message.id, /^[0-9a-f]{32}$/);
        assert.deepEqual([message.design, message.day], [client.id, day]);
        await assert.rejects(client.report(day, "coffee"), AlreadyDrawn);
        const later = await open(design(), storage); // the program was started again
        await assert.rejects(later.report(day, "tea"), AlreadyDrawn);
        assert.deepEqual(await later.resend(day), message);
      }
      assert.equal(sent, 3);
    }));

  test(`of many that draw at once one is kept, in ${name}`, () =>
    within(async (storage) => {
      const text = design({ of: 1, answered: 1 });
      const clients = await Promise.all(Array.from({ length: 20 }, () => open(text, storage)));
      const ends = await Promise.allSettled(clients.map((one) => one.report(1, 2)));
      const sent = ends.filter((one) => one.status === "fulfilled");
      assert.equal(sent.length, 1);
      assert.ok(ends.every((one) => one.status === "fulfilled" || one.reason instanceof AlreadyDrawn));
      assert.deepEqual(await clients[0].resend(1), sent[0].value);
      const days = await Promise.all(clients.map((one) => one.days()));
      assert.equal(new Set(days.map(String)).size, 1);
    }));
}

test("which days a client answers is drawn before a value is seen, and kept", async () => {
  const storage = new MemoryStorage();
  const first = await (await open(design(), storage)).days();
  const client = await open(design(), storage);
  await client.report(first[0], "none");
  assert.deepEqual(await client.days(), first);
});

test("a report that cannot be kept is not sent", async () => {
  const storage = new MemoryStorage();
  const client = await open(design({ of: 1, answered: 1 }), storage);
  await client.days();
  storage.create = () => {
    throw new Error("the disk is full");
  };
  await assert.rejects(client.report(1, 0), /the disk is full/);
  assert.equal(await client.resend(1), null);
});

test("files of a storage appear whole or not at all", () =>
  inFolder(async (folder) => {
    const storage = new FileStorage(folder);
    const made = await Promise.all(Array.from({ length: 50 }, (_, n) => storage.create("key", `text ${n}`)));
    assert.equal(made.filter(Boolean).length, 1);
    assert.equal(await storage.get("key"), `text ${made.indexOf(true)}`);
    assert.deepEqual((await readdir(folder)).length, 1);
  }));

test("another design under the same name is refused", async () => {
  const storage = new MemoryStorage();
  await open(design(), storage);
  const other = design({ mechanism: "RandomizedResponse(epsilon='9', k=4)" });
  await assert.rejects(open(other, storage), OtherDesign);
  await open(other, storage, "another collection, with a budget of its own");
  await assert.rejects(Client.open(other, { storage }), /needs the name of its collection/);
  await assert.rejects(Client.open(other, { name: "drinks" }), /needs a storage/);
});

test("memory is drawn once, and a value that changes is not looked at", async () => {
  const nearly = "0.999999999999999999999999999999";
  const mechanism = `MemoizedRAPPOR(f='1e-30', p='1e-30', q='${nearly}', collections=5)`;
  const text = design({ of: 5, answered: 5, mechanism, randomness: "remembered" });
  const storage = new MemoryStorage();
  const reports = [];
  for (const [day, value] of [[1, "coffee"], [2, "coffee"], [3, "none"], [4, "tea"], [5, "coffee"]]) {
    const client = await open(text, storage);
    reports.push((await client.report(day, value)).report);
  }
  assert.deepEqual(new Set(reports), new Set([btoa(String.fromCharCode(0b01000000))]));
});

test("values and days that are not of the design are refused, and not quoted", async () => {
  const client = await open(design(), new MemoryStorage());
  for (const value of ["beer", 4, -1, 1.5, null, undefined])
    await assert.rejects(client.report(1, value), { message: "the value must be one that the design names" });
  for (const day of [0, 31, 1.5, "1"]) await assert.rejects(client.report(day, 0), /day .* must be from 1 to 30/);
});

test("designs that do not add up are refused", () => {
  assert.throws(() => readDesign(design({ of: 2 })), /answered .3. must be at most the 2 days/);
  assert.throws(() => readDesign(design({ format: "9" })), /is of the format 9/);
  assert.throws(() => readDesign(design({ randomness: "seed" })), /randomness .seed. is not known/);
  assert.throws(() => readDesign(design({ values: ["tea"] })), /1 names of values must be as many as k .4./);
  assert.throws(() => readDesign(design({ number: { low: "0", high: "1", steps: 9 } })), /steps .9. must be one less/);
  assert.throws(() => readDesign(design({ number: { low: "2", high: "1", steps: 3 } })), /low .2. must be below high/);
  const memoized = "MemoizedRAPPOR(f='1/2', p='1/5', q='2/3', collections=2)";
  assert.throws(() => readDesign(design({ mechanism: memoized })), /randomness .fresh. is not known/);
  assert.throws(() => readDesign(design({ mechanism: memoized, randomness: "remembered" })), /at most the 2 collections/);
  assert.throws(() => readMechanism("RandomizedResponse(epsilon=f(1), k=4)"), /does not read/);
  assert.throws(() => readMechanism("RandomizedResponse(scale=1, k=4)"), /scale is not a parameter/);
});

test("numbers with and without quotes are what Python reads", () => {
  const { epsilon } = readMechanism("RAPPOR(epsilon=0.1)").parameters;
  assert.deepEqual(epsilon.rational, { top: 3602879701896397n, bottom: 36028797018963968n });
  assert.deepEqual(readMechanism("RAPPOR(epsilon='0.1')").parameters.epsilon.rational, { top: 1n, bottom: 10n });
  assert.deepEqual(readMechanism("RAPPOR(epsilon='log(3/2)')").parameters.epsilon.log, { top: 3n, bottom: 2n });
  assert.deepEqual(readMechanism("UnaryEncoding(p=0.5, q='1e-3')").parameters.q, { top: 1n, bottom: 1000n });
});

test("numbers of a range are rounded to the grid, and those beyond are refused", async () => {
  const text = design({
    of: 1,
    answered: 1,
    values: null,
    mechanism: "SquareWave(epsilon='1000', steps=3, width=1)",
    number: { low: "-1/2", high: "1", steps: 3 },
  });
  for (const [value, point] of [[-0.5, 0], [0, 1], [0.5, 2], [1, 3]]) {
    const client = await open(text, new MemoryStorage());
    assert.equal((await client.report(1, value)).report, btoa(String.fromCharCode(point)));
  }
  const client = await open(text, new MemoryStorage());
  for (const value of [1.0000001, -0.6, NaN, "0", null]) await assert.rejects(client.report(1, value), /the value must/);
});
