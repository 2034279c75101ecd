/** Programs with the client of MCP's SDKs, which know the URL alone. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type OAuthClientProvider,
  StreamableHTTPClientTransport as HttpV2,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import { clientV2, ERAS } from "../../../support/mcp/clients.ts";
import { GATEWAY_KEYS } from "../../../support/mcp/gateway.ts";
import { SignedInServer } from "../../../support/server/signed_in_server.ts";

const DOCUMENT_ID = "https://app.example/oauth/client.json";
const REDIRECT = "http://127.0.0.1:33418/callback";

/** What a program keeps of its sign-in. */
class Program implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: "Program",
    redirect_uris: [REDIRECT],
    scope: "office offline_access",
  };
  readonly #kept = new Map<string, unknown>();
  readonly clientMetadataUrl?: string;
  /** Where the person is sent. */
  page: URL | undefined;

  /** @param documentUrl absent for one that registers */
  constructor(documentUrl?: string) {
    if (documentUrl !== undefined) this.clientMetadataUrl = documentUrl;
  }

  state = () => "the state";
  clientInformation = () => this.#of("client");
  saveClientInformation = (client: unknown) => this.#keep("client", client);
  tokens = () => this.#of("tokens");
  saveTokens = (tokens: unknown) => this.#keep("tokens", tokens);
  codeVerifier = () => String(this.#kept.get("verifier"));
  saveCodeVerifier = (verifier: string) => this.#keep("verifier", verifier);
  redirectToAuthorization = (url: URL) => void (this.page = url);

  // deno-lint-ignore no-explicit-any -- the two SDKs have types of their own for what they keep
  #of(name: string): any {
    return this.#kept.get(name);
  }

  #keep(name: string, value: unknown): void {
    this.#kept.set(name, value);
  }
}

const DOCUMENT = {
  client_id: DOCUMENT_ID,
  client_name: "Program",
  redirect_uris: ["http://127.0.0.1/callback"],
};

const start = () =>
  SignedInServer.start({
    signIn: { fetchDocument: () => Promise.resolve(Response.json(DOCUMENT)) },
  });

/** Lets the person agree; returns what the browser brings to the program. */
async function agree(
  server: SignedInServer,
  { page }: Program,
  office?: string,
) {
  assert(page, "the program sent nobody to the page");
  const to = await server.visit(page.pathname + page.search, {
    key: GATEWAY_KEYS.ann,
    ...(office !== undefined && { office }),
  });
  assertEquals(to.searchParams.get("state"), "the state");
  return to.searchParams;
}

for (const era of ERAS) {
  for (const id of [undefined, DOCUMENT_ID]) {
    const how = id === undefined ? "a registration" : "a document";
    for (const path of ["/mcp/north", "/mcp"]) {
      Deno.test(`the SDK's client, ${era}, signs in at ${path} by ${how}, lists tools, and renews its token`, async () => {
        await using server = await start();
        const program = new Program(id);
        const url = new URL(server.url + path);
        const connect = async (client = clientV2(era)) => {
          const transport = new HttpV2(url, { authProvider: program });
          await client.connect(transport);
          return { client, transport };
        };
        const asking = new HttpV2(url, { authProvider: program });
        await assertRejects(
          () => clientV2(era).connect(asking),
          UnauthorizedError,
        );
        const office = path === "/mcp" ? "north" : undefined;
        await asking.finishAuth(await agree(server, program, office));
        const { client } = await connect();
        const { tools } = await client.listTools();
        assert(tools.some(({ name }) => name === "pc__echo"));
        await client.close();
        const { refresh_token } = program.tokens();
        program.saveTokens({ ...program.tokens(), access_token: "smcp_at_x" });
        const again = await connect();
        assertEquals(
          (await again.client.listTools()).tools.length,
          tools.length,
        );
        assert(program.tokens().refresh_token !== refresh_token);
        await again.client.close();
        await asking.close();
      });
    }
  }
}

Deno.test("the client of the SDK's first version signs in, too", async () => {
  await using server = await start();
  const program = new Program();
  const url = new URL(`${server.url}/mcp/north`);
  const info = { name: "test", version: "1" };
  const asking = new HttpV1(url, { authProvider: program });
  await assertRejects(() => new ClientV1(info).connect(asking as Transport));
  const answer = await agree(server, program);
  await asking.finishAuth(answer.get("code") ?? "");
  const client = new ClientV1(info);
  await client.connect(
    new HttpV1(url, { authProvider: program }) as Transport,
  );
  const { tools } = await client.listTools();
  assert(tools.some(({ name }) => name === "pc__echo"));
  await client.close();
});
