// Runs the tests of the parts that need no browser. Each file becomes a script of
// Node's own test runner; what needs a page is tested in one, by tests/system/browser.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const out = mkdtempSync("built-");
try {
  const entryPoints = readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => join("test", name));
  await build({ entryPoints, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" }, outdir: out });
  const files = readdirSync(out).map((name) => join(out, name));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
