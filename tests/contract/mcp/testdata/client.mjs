// Calls the endpoint with a TypeScript SDK of an era of the protocol, and prints the results.
const [era, url, key, otherKey, websiteId] = process.argv.slice(2);

const {Client, StreamableHTTPClientTransport} = era === "modern"
  ? await import("@modelcontextprotocol/client")
  : {
      ...await import("@modelcontextprotocol/sdk/client/index.js"),
      ...await import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    };

async function connect(key) {
  const client = new Client({name: "test", version: "1"},
    era === "modern" ? {versionNegotiation: {mode: {pin: "2026-07-28"}}} : {});
  await client.connect(new StreamableHTTPClientTransport(new URL(url), {requestInit: {headers: {"x-api-key": key}}}));
  return client;
}

const query = {name: "run_query", arguments: {websiteId, queries: [{type: "summary_metrics", preset: "today"}]}};
const [client, other] = [await connect(key), await connect(otherKey)];
const names = async client => (await client.listTools()).tools.map(tool => tool.name);
const results = {tools: await names(client), otherTools: await names(other)};

const answer = await client.callTool(query);
results.rows = answer.structuredContent.data[0].rows.length;

const failed = await other.callTool(query);
results.isError = failed.isError;
results.error = JSON.parse(failed.content[0].text).error;

await client.close();
await other.close();
console.log(JSON.stringify(results));
