// Where a client keeps what it must not draw twice. A storage has two methods, both may be asynchronous:
//   get(key)           the text that is kept under the key, or null
//   create(key, text)  true if nothing was there and the text is now kept for good; false if something was there
// Nothing is ever changed or removed. `create` is atomic, also between tabs and processes, and does not return before
// the text would survive a crash: a report leaves the device only after it is kept.

/** For tests, and for programs that run once. */
export class MemoryStorage {
  #kept = new Map();

  get(key) {
    return this.#kept.get(key) ?? null;
  }

  create(key, text) {
    if (this.#kept.has(key)) return false;
    this.#kept.set(key, text);
    return true;
  }
}

/** For browsers: `add` of IndexedDB fails where the key is taken, in every tab. */
export class IndexedDbStorage {
  #database;

  constructor(name = "zcdp") {
    this.#database = new Promise((done, failed) => {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("kept");
      request.onsuccess = () => done(request.result);
      request.onerror = () => failed(request.error);
    });
  }

  async get(key) {
    const database = await this.#database;
    return new Promise((done, failed) => {
      const request = database.transaction("kept").objectStore("kept").get(key);
      request.onsuccess = () => done(request.result ?? null);
      request.onerror = () => failed(request.error);
    });
  }

  async create(key, text) {
    const database = await this.#database;
    return new Promise((done, failed) => {
      const transaction = database.transaction("kept", "readwrite", { durability: "strict" });
      const request = transaction.objectStore("kept").add(text, key);
      let taken = false;
      request.onerror = (event) => {
        taken = request.error.name === "ConstraintError";
        if (taken) event.preventDefault();
      };
      transaction.oncomplete = () => done(!taken);
      transaction.onabort = transaction.onerror = () => (taken ? done(false) : failed(transaction.error));
    });
  }
}
