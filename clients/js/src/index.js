// What programs use of this package.

export { AlreadyDrawn, Client, OtherDesign, designId } from "./client.js";
export { Chance, CryptoStream, answeredDays, below, distinctBelow } from "./coins.js";
export { readDesign, readMechanism } from "./design.js";
export { Power } from "./exact.js";
export { Randomizer, gridPoint } from "./randomizers.js";
export { IndexedDbStorage, MemoryStorage } from "./storage.js";
export { StringRandomizer } from "./strings.js";
