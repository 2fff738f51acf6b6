import assert from "node:assert/strict";
import { test } from "node:test";
import { mask, maskText, matches, parseList } from "../src/pattern.ts";

test("a pattern fits what its stars stand for, and nothing else", () => {
  for (const [pattern, path, want] of [
    ["/", "/", true],
    ["/a.b", "/a.b", true],
    ["/a.b", "/axb", false],
    ["/users/*", "/users/5", true],
    ["/users/*", "/users/5/", true],
    ["/users/*", "/users", false],
    ["/users/*", "/users/5/orders", false],
    ["/*/edit", "/post/edit", true],
    ["/admin/**", "/admin", true],
    ["/admin/**", "/admin/a/b", true],
    ["/admin/**", "/administrator", false],
    ["/a/**/b", "/a/b", true],
    ["/a/**/b", "/a/x/y/b", true],
    ["/a/**/b", "/a/xb", false],
    ["/img-*.png", "/img-7.png", true],
    ["/img-*.png", "/img-7/x.png", false],
    ["/**", "/", true],
  ] as const) {
    assert.equal(matches([pattern], path), want, `${pattern} and ${path}`);
  }
  assert.equal(matches([], "/"), false);
});

test("every segment under a star of any pattern is masked", () => {
  for (const [patterns, path, want] of [
    [["/users/*"], "/users/5", "/users/*"],
    [["/users/*"], "/posts/5", "/posts/5"],
    [["/users/*/**"], "/users/5/orders/7/", "/users/*/*/*/"],
    [["/a/*", "/*/b"], "/a/b", "/*/*"],
    [["/img-*.png"], "/img-7.png", "/*"],
    [[], "/x", "/x"],
  ] as const) {
    assert.equal(mask([...patterns], path), want, `${patterns.join(" ")} on ${path}`);
  }
});

test("the addresses in a text are masked, and lines and columns stay", () => {
  const patterns = ["/users/*", "/users/*/edit"];
  for (const [text, want] of [
    ["", ""],
    ["https://shop.example/users/5", "https://shop.example/users/*"],
    ["https://shop.example:8443/users/5/edit?q=1#part", "https://shop.example:8443/users/*/edit?q=1#part"],
    ["https://shop.example/users/5?next=/users/6", "https://shop.example/users/*?next=/users/6"],
    ["https://[::1]:80/users/5:12:7", "https://[::1]:80/users/*:12:7"],
    ["https://shop.example/users/urn:a(b):12:7", "https://shop.example/users/*:12:7"],
    ["https://shop.example/posts/5:1:2", "https://shop.example/posts/5:1:2"],
    ["https://shop.example", "https://shop.example"],
    ["no https://shop.example/users/5. Nor 'https://shop.example/users/6/edit', or users/7", "no https://shop.example/users/*. Nor 'https://shop.example/users/*/edit', or users/7"],
    [
      "Error: x\n    at f (https://shop.example/users/5:1:2)\n    at eval (eval at g (https://shop.example/users/6/edit:3:4), <anonymous>:5:6)",
      "Error: x\n    at f (https://shop.example/users/*:1:2)\n    at eval (eval at g (https://shop.example/users/*/edit:3:4), <anonymous>:5:6)",
    ],
    [
      "https://shop.example/?anonId=anon_11111111-2222-4333-8444-555555555555&sessionId=sess_11111111222243338444555555555555&q=1:2:3 anon_face",
      "https://shop.example/?anonId=anon_*&sessionId=sess_*&q=1:2:3 anon_face",
    ],
    ["f@https://shop.example/users/5:1:2\n@https://cdn.example/users/6:3:4", "f@https://shop.example/users/*:1:2\n@https://cdn.example/users/*:3:4"],
  ] as const) {
    assert.equal(maskText(patterns, text), want);
  }
  assert.equal(maskText([], "https://shop.example/users/5:1:2"), "https://shop.example/users/5:1:2");
});

test("a list is a JSON array or words", () => {
  assert.deepEqual(parseList('["/a b","/c"]'), ["/a b", "/c"]);
  assert.deepEqual(parseList("/a, /b /c"), ["/a", "/b", "/c"]);
  assert.deepEqual(parseList(""), []);
  assert.deepEqual(parseList('{"a":1}'), ['{"a":1}']);
});
