// Builds dist/ (or the folder that is named) from src/. The second file comes first:
// the name and the checksum of their file are compiled into the core, so that a
// page never runs a second file that the first one was not built with.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const out = process.argv[2] ?? "dist";
const versions = JSON.parse(readFileSync("package.json", "utf8")).devDependencies;

// The short names of fields, in both files the same: one hands some to the other.
const mangleCache = {};

async function bundle(entry, name, banner, define = {}) {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2021",
    // Of the file only what changes types: no "use strict" in front.
    tsconfigRaw: {},
    charset: "utf8",
    legalComments: "none",
    banner: { js: banner },
    define,
    // Names of fields that are ours alone and need not be legible.
    mangleProps: /^(batch|exits|flag|items|loadedPage|onExit|page|poke|report|room|safe|session|skip|start|stop|wait)$/,
    mangleCache,
    write: false,
  });
  Object.assign(mangleCache, result.mangleCache);
  const content = result.outputFiles[0].contents;
  writeFileSync(join(out, name), content);
  return content;
}

const digest = (algorithm, content, encoding) => createHash(algorithm).update(content).digest(encoding);

mkdirSync(out, { recursive: true });
const extra = await bundle(
  "src/extra/main.ts",
  "tracker-extra.js",
  `/*! with web-vitals ${versions["web-vitals"]}, Copyright Google LLC, Apache-2.0 */`,
);
await bundle("src/main.ts", "tracker.js", "", {
  EXTRA_FILE: JSON.stringify(`tracker-extra.${digest("sha256", extra, "hex").slice(0, 16)}.js`),
  EXTRA_INTEGRITY: JSON.stringify(`sha384-${digest("sha384", extra, "base64")}`),
});
