import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore, readJSON } from "../src/storage.ts";

/** A storage of the browser in memory, as far as the store uses it. */
function fake(): Storage {
  const kept: Record<string, string> = {};
  const methods = {
    getItem: (key: string) => kept[key] ?? null,
    setItem: (key: string, value: string) => Object.assign(kept, { [key]: value }),
    removeItem: (key: string) => Reflect.deleteProperty(kept, key),
  };
  return new Proxy(kept, { get: (_, name) => methods[name as keyof typeof methods] }) as unknown as Storage;
}

test("what is stored is in the browser's storage", () => {
  const browser = fake();
  const store = openStore(() => browser);
  store.set("a.1", "x");
  store.set("b", "y");
  assert.equal(browser.getItem("a.1"), "x");
  assert.deepEqual(store.keys("a."), ["a.1"]);
  store.set("a.1", null);
  assert.equal(store.get("a.1"), null);
});

test("a storage that is blocked, full or taken away is replaced by memory", () => {
  const blocked = openStore(() => {
    throw new Error("denied");
  });
  blocked.set("a", "x");
  assert.equal(blocked.get("a"), "x");
  assert.deepEqual(blocked.keys(""), []);
  blocked.set("a", null);
  assert.equal(blocked.get("a"), null);

  let full = false;
  const browser = fake();
  const store = openStore(() => {
    if (full) throw new Error("full");
    return browser;
  });
  store.set("a", "old");
  full = true;
  store.set("a", "new");
  assert.equal(store.get("a"), "new");
});

test("a stored text that is no JSON is nothing", () => {
  const store = openStore(fake);
  assert.equal(readJSON(store, "a"), null);
  const kept = fake();
  const other = openStore(() => kept);
  other.set("a", "{");
  assert.equal(readJSON(other, "a"), null);
  other.set("a", "[1]");
  assert.deepEqual(readJSON(other, "a"), [1]);
});
