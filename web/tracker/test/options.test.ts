import assert from "node:assert/strict";
import { test } from "node:test";
import { readOptions } from "../src/options.ts";

const src = "https://in.example.com/tracker.js";

test("an attribute without a value is on, and what the tag does not say is as the caller has it", () => {
  const [flag] = readOptions({ src, dataset: { trackErrors: "", trackWebVitals: "true", trackPerformance: "false" } });
  assert.equal(flag("trackErrors"), true);
  assert.equal(flag("trackWebVitals"), true);
  assert.equal(flag("trackPerformance", true), false);
  assert.equal(flag("trackOutgoingLinks"), false);
  assert.equal(flag("trackInteractions", true), true);
});

test("the address of the script says what its attributes do not", () => {
  const [, , list, text] = readOptions({
    src: src + "?clientId=web_2&globals=one,two",
    dataset: { clientId: "web_1" },
  });
  assert.equal(text("clientId"), "web_1");
  assert.deepEqual(list("globals"), ["one", "two"]);
});

test("a number that is none, or less than zero, is not taken", () => {
  const [, amount] = readOptions({
    src,
    dataset: { batchSize: "many", maxRetries: "-1", samplingRate: "0", batchTimeout: "" },
  });
  assert.equal(amount("batchSize", 10), 10);
  assert.equal(amount("maxRetries", 3), 3);
  assert.equal(amount("samplingRate", 1), 0);
  assert.equal(amount("batchTimeout", 2000), 2000);
});
