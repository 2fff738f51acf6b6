// Asks for flags with the provider for servers, and tells what came of it as JSON.
import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OFREPApi } from "@openfeature/ofrep-core";

const [baseUrl, key, limited] = process.argv.slice(2);

async function client(name, headers) {
  await OpenFeature.setProviderAndWait(name, new OFREPProvider({ baseUrl, headers }));
  return OpenFeature.getClient(name);
}

const told = ({ value, reason, variant, errorCode, flagMetadata }) => {
  return { value, reason, variant, errorCode, version: flagMetadata?.version };
};

const open = await client("open", []);
const trusted = await client("trusted", [["X-Api-Key", key]]);
const once = await client("limited", [["Authorization", `Bearer ${limited}`]]);
const api = new OFREPApi(baseUrl);
const first = await api.postBulkEvaluateFlags({ context: { targetingKey: "ann" } });
const again = await api.postBulkEvaluateFlags(
  { context: { targetingKey: "ann" } },
  { headers: { "If-None-Match": first.httpResponse.headers.get("ETag") } },
);

console.log(JSON.stringify({
  static: told(await open.getBooleanDetails("nav", false)),
  rule: told(await open.getStringDetails("layout", "none", { targetingKey: "ann", plan: "pro", environment: "x" })),
  object: told(await open.getObjectDetails("theme", {}, { targetingKey: "ann" })),
  disabled: told(await open.getBooleanDetails("resting", true)),
  nobody: told(await open.getStringDetails("half", "none", {})),
  wrongType: told(await open.getNumberDetails("layout", 1, { targetingKey: "ann" })),
  nothing: told(await open.getBooleanDetails("nothing at all", true)),
  hidden: told(await open.getBooleanDetails("secret", false)),
  visible: told(await trusted.getBooleanDetails("secret", false)),
  admitted: told(await once.getBooleanDetails("nav", false)),
  limited: told(await once.getBooleanDetails("nav", false)),
  bulk: [first.httpStatus, again.httpStatus],
}));
