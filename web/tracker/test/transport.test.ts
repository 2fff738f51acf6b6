import assert from "node:assert/strict";
import { test } from "node:test";
import { backoff, parseRetryAfter } from "../src/transport.ts";

test("the wait doubles up to a minute, less up to half by chance", () => {
  for (const [n, most] of [[1, 500], [2, 1000], [3, 2000], [4, 60000], [30, 60000]] as const) {
    for (let i = 0; i < 100; i++) {
      const wait = backoff(500, n, 3);
      assert.ok(wait > most / 2 - 1 && wait <= most, `attempt ${n}: ${wait} ms`);
    }
  }
});

test("a Retry-After is seconds, up to an hour", () => {
  for (const [text, want] of [
    ["5", 5000],
    ["3600", 3600000],
    ["3601", 3600000],
    ["0", undefined],
    ["soon", undefined],
    [null, undefined],
  ] as const) {
    assert.equal(parseRetryAfter(text), want, String(text));
  }
});
