// One client of one collection: it draws once which days it answers, at most one report for each, and keeps them.

import { CryptoStream, answeredDays } from "./coins.js";
import { readDesign } from "./design.js";
import { rationalOfDouble } from "./exact.js";
import { Randomizer, gridPoint } from "./randomizers.js";
import { StringRandomizer } from "./strings.js";

/** A second draw was asked for: another report of the same value would cost as much privacy again. */
export class AlreadyDrawn extends Error {
  name = "AlreadyDrawn";
}

/** Another design was given under the name of a collection that this client takes part in. */
export class OtherDesign extends Error {
  name = "OtherDesign";
}

export class Client {
  #design;
  #id;
  #name;
  #randomizer;
  #storage;
  #stream;

  /** `text` is the file that `zcdp choose --client` wrote; `name` tells collections apart in the storage. */
  static async open(text, { storage, name, stream = new CryptoStream() }) {
    if (!storage) throw new TypeError("a client needs a storage: what is not kept would be drawn again");
    if (typeof name !== "string" || !name) throw new TypeError("a client needs the name of its collection");
    const client = new Client();
    client.#design = readDesign(text);
    client.#name = name;
    const { strings, mechanism, k } = client.#design;
    client.#randomizer = strings ? new StringRandomizer(strings) : new Randomizer(mechanism, k);
    client.#storage = storage;
    client.#stream = stream;
    client.#id = await designId(text);
    const kept = await client.#once("design", () => client.#id);
    if (kept !== client.#id)
      throw new OtherDesign(`${client.#name} was opened with design ${kept}: another one would be another budget`);
    return client;
  }

  get design() {
    return this.#design;
  }

  /** The first 16 hexadecimal digits of the SHA-256 of the design file, which each message states. */
  get id() {
    return this.#id;
  }

  /** The days that this client answers, from 1: drawn once, before any value is seen. */
  async days() {
    const { of, answered } = this.#design;
    return JSON.parse(await this.#once("days", () => JSON.stringify(answeredDays(of, answered, this.#stream))));
  }

  /**
   * The message of a day, or null if this client does not answer it. A value is a number below k, a name of the
   * design, or a string where the design is for strings. The report of a day is drawn once: `resend` gives the same message again.
   */
  async report(day, value) {
    if (!Number.isSafeInteger(day) || day < 1 || day > this.#design.of)
      throw new RangeError(`day (${day}) must be from 1 to ${this.#design.of}`);
    const number = this.#number(value);
    if (!(await this.days()).includes(day)) return null;
    const key = this.#key(`report ${day}`);
    if ((await this.#storage.get(key)) !== null) throw this.#drawn(day);
    const kept = JSON.stringify({ id: hex(16, this.#stream), report: base64(await this.#draw(number)) });
    if (!(await this.#storage.create(key, kept))) throw this.#drawn(day);
    return this.#message(day, kept);
  }

  /** The message that was drawn for a day, as often as it is needed: a copy costs nothing. Null if there is none. */
  async resend(day) {
    const kept = await this.#storage.get(this.#key(`report ${day}`));
    return kept === null ? null : this.#message(day, kept);
  }

  async #draw(number) {
    const { range } = this.#design;
    if (range) return this.#randomizer.report(gridPoint(number, range, this.#stream), this.#stream);
    if (!this.#randomizer.memory) return this.#randomizer.report(number, this.#stream);
    // A value that has changed is not looked at again: all reports are about the first one, which is what is accounted.
    const memory = await this.#once("memory", () => base64(this.#randomizer.remember(number, this.#stream)));
    return this.#randomizer.repeat(fromBase64(memory), this.#stream);
  }

  #number(value) {
    const { values: names, range } = this.#design;
    if (range) return this.#inRange(value, range);
    if (this.#design.strings) {
      this.#randomizer.digits(value); // refuses what is no string of the design
      return value;
    }
    const number = names && typeof value === "string" ? names.indexOf(value) : value;
    if (!Number.isSafeInteger(number) || number < 0 || number >= this.#design.k)
      throw new RangeError(
        names ? "the value must be one that the design names" : `the value must be from 0 to ${this.#design.k - 1}`,
      );
    return number;
  }

  #inRange(value, { low, high }) {
    if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError("the value must be a finite number");
    const number = rationalOfDouble(value);
    const beyond =
      number.top * low.bottom < low.top * number.bottom || number.top * high.bottom > high.top * number.bottom;
    if (beyond) throw new RangeError("the value must lie in the range of the design: clip it first");
    return number;
  }

  #message(day, kept) {
    return { zcdp: 1, design: this.#id, day, ...JSON.parse(kept) };
  }

  #drawn(day) {
    return new AlreadyDrawn(`day ${day} has its report: resend(${day}) gives it again, a second one is not drawn`);
  }

  #key(part) {
    return JSON.stringify([this.#name, part]);
  }

  /** What is kept under the key; drawn if nothing is. Of two that draw at once the first to be kept holds for both. */
  async #once(part, draw) {
    const key = this.#key(part);
    const kept = await this.#storage.get(key);
    if (kept !== null) return kept;
    const drawn = draw();
    if (await this.#storage.create(key, drawn)) return drawn;
    return this.#storage.get(key);
  }
}

export async function designId(text) {
  const digest = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest).slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const hex = (count, stream) =>
  Array.from({ length: count }, () => stream.next().toString(16).padStart(2, "0")).join("");
const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const fromBase64 = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
