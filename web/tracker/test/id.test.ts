import assert from "node:assert/strict";
import { test } from "node:test";
import { fraction, isID, uuid } from "../src/id.ts";

test("an id is a UUID of version 4, and each is another", () => {
  const ids = new Set(Array.from({ length: 1000 }, uuid));
  assert.equal(ids.size, 1000);
  for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
});

test("an id from an address is taken only in the form in which it is made", () => {
  const id = uuid();
  assert.equal(isID("anon", "anon_" + id), true);
  for (const text of ["", id, "sess_" + id, "anon_" + id + "0", "anon_" + id.toUpperCase() + "G", "anon_x"]) {
    assert.equal(isID("anon", text), false, text);
  }
});

test("the fractions of ids are even, and always the same for one", () => {
  const ids = Array.from({ length: 4000 }, () => "sess_" + uuid());
  const low = ids.filter((id) => fraction(id) < 0.25).length;
  assert.ok(low > 850 && low < 1150, `${low} of 4000 are below a quarter`);
  for (const id of ids) assert.equal(fraction(id), fraction(id));
  assert.ok(ids.every((id) => fraction(id) >= 0 && fraction(id) < 1));
});
