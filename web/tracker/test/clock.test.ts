import assert from "node:assert/strict";
import { test } from "node:test";
import { newClock } from "../src/clock.ts";

test("a clock counts from poke to poke and for its patience after the last", () => {
  const clock = newClock(1000);
  clock.poke(0);
  clock.poke(600); // within the patience
  clock.poke(5000); // after it: 1600 until then
  assert.equal(clock.stop(5400), 2000);
});

test("a clock that was stopped begins from zero, and counts nothing until it is poked", () => {
  const clock = newClock(1000);
  clock.poke(0);
  assert.equal(clock.stop(300), 300);
  assert.equal(clock.stop(900), 0);
  clock.poke(1000);
  assert.equal(clock.stop(9000), 1000);
});
