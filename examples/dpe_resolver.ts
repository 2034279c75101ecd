/**
 * A custom resolver: it decides where the documents of a Computer are published. This one serves
 * them over HTTP from memory, under URLs that cannot be guessed.
 *
 * ```sh
 * deno run -A examples/dpe_resolver.ts
 * ```
 *
 * @module
 */
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { type DpeResolver, SmcpComputer } from "@a2c-smcp/sdk/computer";
import { createSmcpServer } from "@a2c-smcp/sdk/server";
import { notes } from "./notes.ts";

const published = new Map<string, string>();
const web = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen() {} },
  (request) => {
    const text = published.get(new URL(request.url).pathname);
    return text === undefined
      ? new Response("No such document", { status: 404 })
      : new Response(text, { headers: { "Content-Type": "application/json" } });
  },
);

const inMemory: DpeResolver = {
  resolve(_uri, [document], { mime_type }) {
    if (document?.text === undefined) throw new Error("There is no text");
    const path = `/${crypto.randomUUID()}`;
    published.set(path, document.text);
    return { uri: `http://127.0.0.1:${web.addr.port}${path}`, mime_type };
  },
};

await using server = createSmcpServer();
const { url } = await server.listen();
await using computer = new SmcpComputer({
  url,
  name: "laptop",
  servers: { notes: { ...notes, default_tool_meta: { auto_apply: true } } },
});
computer.registerDpeResolver(inMemory);
await computer.connect();
await computer.serversSettled();
await computer.join("demo");

await using agent = new SmcpAgent({ url, name: "reader" });
await agent.connect();
await agent.join("demo");
await agent.callTool("laptop", "add_note", { text: "buy milk" });

const { documents } = await agent.getFinder("laptop");
for (const { uri } of documents) {
  const document = await agent.openDocument("laptop", uri);
  console.log(await document.toMarkdown());
}
await web.shutdown();
