// Asks for flags with the manager for servers, and tells what came of it as JSON.
import { createServerFlagsManager } from "@databuddy/sdk/node";

const [apiUrl, clientId, missing] = process.argv.slice(2);
const seen = [];
const plain = globalThis.fetch;
globalThis.fetch = async (address, ...more) => {
  const response = await plain(address, ...more);
  seen.push(`${response.status} ${new URL(address).searchParams.get("keys")}`);
  return response;
};

const told = ({ enabled, value, variant, reason }) => ({ enabled, value, variant, reason });
const user = { userId: "ann", email: "ann@example.com", organizationId: "o", teamId: "t", properties: { plan: "pro" } };
const manager = createServerFlagsManager({ apiUrl, clientId, user, environment: "production" });
await manager.waitForInit();
const keys = ["nav", "layout", "theme", "resting", "secret"];
const results = await Promise.all(keys.map((key) => manager.getFlag(key)));
const free = await manager.getFlag("layout", { userId: "bob", properties: { plan: "free" } });
await manager.fetchAllFlags();
const lost = createServerFlagsManager({ apiUrl, clientId: missing });

console.log(JSON.stringify({
  ...Object.fromEntries(keys.map((key, i) => [key, told(results[i])])),
  free: told(free),
  all: Object.keys(manager.getMemoryFlags()).sort(),
  lost: told(await lost.getFlag("nav")),
  seen,
}));
