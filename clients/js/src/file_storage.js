// For programs under Node: one file a key in a folder that others cannot read. A file appears under its name only whole.

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";

export class FileStorage {
  constructor(folder) {
    this.folder = folder;
  }

  #path(key) {
    return join(this.folder, createHash("sha256").update(key).digest("hex"));
  }

  async get(key) {
    try {
      return await readFile(this.#path(key), "utf8");
    } catch (error) {
      if (error.code === "ENOENT") return null;
      throw error;
    }
  }

  async create(key, text) {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const draft = join(this.folder, `.${randomUUID()}`);
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(text, "utf8");
      await file.sync();
      await link(draft, this.#path(key)); // fails where the name is taken
    } catch (error) {
      if (error.code === "EEXIST") return false;
      throw error;
    } finally {
      await file.close();
      await unlink(draft);
    }
    const folder = await open(this.folder);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return true;
  }
}
