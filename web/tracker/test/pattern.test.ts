import assert from "node:assert/strict";
import { test } from "node:test";
import { mask, matches, parseList } from "../src/pattern.ts";

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

test("a list is a JSON array or words", () => {
  assert.deepEqual(parseList('["/a b","/c"]'), ["/a b", "/c"]);
  assert.deepEqual(parseList("/a, /b /c"), ["/a", "/b", "/c"]);
  assert.deepEqual(parseList(""), []);
  assert.deepEqual(parseList('{"a":1}'), ['{"a":1}']);
});
