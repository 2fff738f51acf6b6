// Calls the endpoint with a TypeScript SDK of an era of the protocol, and prints the results.
const [era, url, key, otherKey, websiteId, linkId] = process.argv.slice(2);

const {Client, StreamableHTTPClientTransport} = era === "modern"
  ? await import("@modelcontextprotocol/client")
  : {
      ...await import("@modelcontextprotocol/sdk/client/index.js"),
      ...await import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    };

async function connect(key, capabilities = {}) {
  const client = new Client({name: "test", version: "1"},
    {capabilities, ...(era === "modern" && {versionNegotiation: {mode: {pin: "2026-07-28"}}})});
  await client.connect(new StreamableHTTPClientTransport(new URL(url), {requestInit: {headers: {"x-api-key": key}}}));
  return client;
}

const query = {name: "run_query", arguments: {websiteId, queries: [{type: "summary_metrics", preset: "today"}]}};
const [client, other] = [await connect(key), await connect(otherKey)];
const names = async client => (await client.listTools()).tools.map(tool => tool.name);
const results = {tools: await names(client), otherTools: await names(other)};

const answer = await client.callTool(query);
results.rows = answer.structuredContent.data[0].rows.length;

const save = {name: "save_link", arguments: {id: linkId, name: "by token"}};
const {confirmToken} = (await client.callTool(save)).structuredContent.data;
const saved = await client.callTool({...save, arguments: {...save.arguments, confirmToken}});
results.saved = [saved.structuredContent.data.name];
if (era === "modern") {
  const person = await connect(key, {elicitation: {form: {}}});
  let question;
  person.setRequestHandler("elicitation/create", async ({params}) => {
    question = params.message;
    return {action: "accept", content: {}};
  });
  const accepted = await person.callTool({name: "save_link", arguments: {id: linkId, name: "by form"}});
  results.saved.push(question, accepted.structuredContent.data.name);
  await person.close();
}

const failed = await other.callTool(query);
results.isError = failed.isError;
results.error = JSON.parse(failed.content[0].text).error;

await client.close();
await other.close();
console.log(JSON.stringify(results));
