import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  AuthorizationServer,
  readChallenge,
  readScopes,
} from "../../../../computer/host/oauth/authorization_server.ts";
import { AuthorizationError } from "../../../../computer/host/oauth/authorized_fetch.ts";
import { OutOfReachError } from "../../../../computer/host/oauth/requests.ts";

const ISSUER = "https://auth.example";
const URL_OF_MCP = "https://mcp.example/mcp";

const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  registration_endpoint: `${ISSUER}/register`,
  response_types_supported: ["code"],
  code_challenge_methods_supported: ["S256"],
};

const RESOURCE = {
  resource: "https://mcp.example/",
  authorization_servers: [ISSUER, "https://other.example"],
  scopes_supported: ["read", "write"],
};

const CLIENT = { client_id: "c1" };
const TOKENS = { access_token: "a1", token_type: "Bearer" };
const { signal } = new AbortController();

/** What is at an address: JSON, or a response; `undefined` is a 404. */
type Pages = Readonly<Record<string, unknown>>;

const METADATA_OF = (more: object = {}): Pages => ({
  [`${ISSUER}/.well-known/oauth-authorization-server`]: {
    ...METADATA,
    ...more,
  },
});

/** Answers requests, and keeps them as text. */
function web(pages: Pages) {
  const requests: string[] = [];
  const fetch = async (url: string | URL, init?: RequestInit) => {
    init?.signal?.throwIfAborted();
    const request = new Request(url, init);
    const authorization = request.headers.get("authorization") ?? "";
    requests.push(
      [`${request.method} ${url}`, authorization, await request.text()]
        .filter((part) => part !== "").join(" "),
    );
    const page = pages[String(url)];
    if (page instanceof Error) throw page;
    if (page instanceof Response) return page.clone();
    return page === undefined
      ? new Response("", { status: 404 })
      : Response.json(page);
  };
  return { fetch, requests };
}

const ofIssuer = (pages: Pages) =>
  AuthorizationServer.ofIssuer(ISSUER, web(pages).fetch, signal);

const ofResource = (pages: Pages) =>
  AuthorizationServer.ofResource(
    URL_OF_MCP,
    { scopes: [] },
    web(pages).fetch,
    signal,
  );

const RESOURCE_AT = "https://mcp.example/.well-known/oauth-protected-resource";

const refusal = (error: string, more: object = {}, status = 400) =>
  Response.json({ error, ...more }, { status });

Deno.test("readScopes() and readChallenge() read what an MCP server asks for", () => {
  const rows: [text: string | undefined, scopes: string[]][] = [
    [undefined, []],
    ["", []],
    ["b a b", ["b", "a"]],
    ['a:b "c" d\\e é', ["a:b"]],
  ];
  for (const [text, scopes] of rows) assertEquals(readScopes(text), scopes);
  const header =
    'Bearer error="insufficient_scope", scope="a b", resource_metadata="https://m/"';
  const headers = { "www-authenticate": header };
  assertEquals(readChallenge(new Response("", { headers })), {
    error: "insufficient_scope",
    scopes: ["a", "b"],
    resourceMetadataUrl: new URL("https://m/"),
  });
});

Deno.test("no body is left open where metadata are looked for at several places", async () => {
  const open = new Set<string>();
  const fetch = (url: string | URL) => {
    const address = String(url);
    open.add(address);
    // It never ends by itself, as one that is still on its way.
    const body = new ReadableStream({
      cancel: () => void open.delete(address),
    });
    return Promise.resolve(new Response(body, { status: 404 }));
  };
  const challenge = { scopes: [] };
  await AuthorizationServer.ofResource(URL_OF_MCP, challenge, fetch, signal);
  assertEquals([...open], []);
});

Deno.test("an MCP server names its authorization server, or is its own", async () => {
  const named = await ofResource({
    [RESOURCE_AT]: RESOURCE,
    [`${RESOURCE_AT}/mcp`]: RESOURCE,
    ...METADATA_OF(),
  });
  assertEquals([named.issuer, named.scopes], [ISSUER, ["read", "write"]]);
  const own = await ofResource({});
  assertEquals([own.issuer, own.scopes], ["https://mcp.example/", []]);
  const other = { ...RESOURCE, resource: "https://elsewhere.example/" };
  const error = await assertRejects(
    () => ofResource({ [`${RESOURCE_AT}/mcp`]: other }),
    AuthorizationError,
    'of another "resource"',
  );
  assertEquals(error.hint.action, "configure");
  assertStringIncludes(
    error.message,
    "https://elsewhere.example/, not https://mcp.example/mcp",
  );
  assert(!error.hint.message.includes("https:"));
});

Deno.test("metadata that name another issuer than the MCP server are refused, but for a final slash; found by its place alone they are taken", async () => {
  const pages = (issuer: string) => ({
    [`${RESOURCE_AT}/mcp`]: RESOURCE,
    ...METADATA_OF({ issuer }),
  });
  await ofResource(pages(`${ISSUER}/`));
  const error = await assertRejects(
    () => ofResource(pages("https://other.example")),
    AuthorizationError,
    'of another "issuer"',
  );
  assertStringIncludes(error.message, `https://other.example, not ${ISSUER}`);
  assert(!error.hint.message.includes("https:"));
  const own = "https://mcp.example/.well-known/oauth-authorization-server";
  await ofResource({ [own]: { ...METADATA, issuer: ISSUER } });
});

Deno.test("metadata of any tenant, as Entra has them, are refused, and the error names what to change", async () => {
  const common = "https://login.example/common/v2.0";
  const at = (place: string) => `https://login.example${place}`;
  const template = "https://login.example/{tenantid}/v2.0";
  const error = await assertRejects(
    () =>
      ofResource({
        [`${RESOURCE_AT}/mcp`]: {
          ...RESOURCE,
          authorization_servers: [common],
        },
        [at("/common/v2.0/.well-known/openid-configuration")]: {
          ...METADATA,
          issuer: template,
          jwks_uri: at("/common/keys"),
          subject_types_supported: ["pairwise"],
          id_token_signing_alg_values_supported: ["RS256"],
        },
      }),
    AuthorizationError,
    'of another "issuer"',
  );
  assertStringIncludes(error.message, "tenantid");
  assertStringIncludes(error.hint.message, "the issuer of one tenant");
});

Deno.test("checkIssuer() takes the code of this server alone, as it is written, and needs the name where that is promised", async () => {
  const promised = { authorization_response_iss_parameter_supported: true };
  const rows: [more: object, named: string | null, isRight: boolean][] = [
    [{}, null, true],
    [{}, ISSUER, true],
    [{}, "https://other.example", false],
    [promised, ISSUER, true],
    [promised, `${ISSUER}/`, false],
    [promised, null, false],
  ];
  for (const [more, named, isRight] of rows) {
    const server = await ofIssuer(METADATA_OF(more));
    const check = () => Promise.try(() => server.checkIssuer(named));
    if (isRight) await check();
    else await assertRejects(check, AuthorizationError, '"iss"');
  }
  (await ofIssuer({})).checkIssuer(ISSUER);
});

Deno.test("metadata of an authorization server that are invalid, or out of reach, are errors", async () => {
  const at = Object.keys(METADATA_OF())[0] ?? "";
  for (
    const [page, part] of [
      [{ ...METADATA, token_endpoint: 5 }, '("token_endpoint")'],
      [new Response("<html>"), "are invalid;"],
    ] as const
  ) {
    const read = () => ofIssuer({ [at]: page });
    const error = await assertRejects(read, AuthorizationError, "are invalid");
    assertStringIncludes(error.hint.message, part);
  }
  const openid = `${ISSUER}/.well-known/openid-configuration`;
  for (
    const trouble of [
      new Response("", { status: 503 }),
      new TypeError("connection refused"),
    ]
  ) {
    const read = () => ofIssuer({ [at]: trouble, [openid]: trouble });
    await assertRejects(read, OutOfReachError);
  }
  const aborted = AbortSignal.abort(new Error("stopped"));
  await assertRejects(
    () => AuthorizationServer.ofIssuer(ISSUER, web({}).fetch, aborted),
    Error,
    "stopped",
  );
});

Deno.test("issued() compares issuers as URLs, without a final slash", async () => {
  const server = await ofIssuer({});
  const rows: [issuer: string | undefined, issued: boolean][] = [
    [undefined, true],
    [`${ISSUER}/`, true],
    ["HTTPS://AUTH.example", true],
    [`${ISSUER}/path`, false],
    ["no URL", false],
  ];
  for (const [issuer, issued] of rows) {
    assertEquals(server.issued({ issuer }), issued, issuer);
  }
});

Deno.test("register() registers the Computer, or names why it could not", async () => {
  const at = METADATA.registration_endpoint;
  const redirect = "http://127.0.0.1:1/";
  const { fetch, requests } = web({
    ...METADATA_OF(),
    [at]: { client_id: "c1", redirect_uris: [redirect] },
  });
  const server = await AuthorizationServer.ofIssuer(ISSUER, fetch, signal);
  for (const scope of ["", "read write"]) {
    const client = await server.register(redirect, scope);
    assertEquals(client, {
      client_id: "c1",
      redirect_uris: [redirect],
      issuer: ISSUER,
    });
    const sent = JSON.parse(requests.at(-1)?.replace(/^\S+ \S+ /, "") ?? "");
    assertEquals<unknown>(sent, {
      client_name: "A2C-SMCP Computer",
      application_type: "native",
      redirect_uris: [redirect],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      ...(scope !== "" && { scope }),
    });
  }
  const described = { error_description: `no\n ${"x".repeat(300)}` };
  const rows: [Pages, part: string, values: string][] = [
    [METADATA_OF({ registration_endpoint: undefined }), '(it has no "reg', ""],
    [
      { ...METADATA_OF(), [at]: refusal("access_denied", described) },
      "refused to register the Computer (access_denied)",
      `(no ${"x".repeat(197)})`,
    ],
    [
      { ...METADATA_OF(), [at]: new Response("no", { status: 400 }) },
      "(HTTP 400)",
      "",
    ],
    [
      { ...METADATA_OF(), [at]: { redirect_uris: [redirect] } },
      '(invalid answer ("client_id"))',
      "",
    ],
    [{}, "credentials are missing or not accepted", ""],
  ];
  for (const [pages, part, values] of rows) {
    const refusing = await ofIssuer(pages);
    const error = await assertRejects(
      () => refusing.register(redirect, ""),
      AuthorizationError,
    );
    assertStringIncludes(error.hint.message, part);
    assertStringIncludes(error.message, values);
    assertEquals(error.hint.action, "configure");
  }
  const trouble = new Response("", { status: 500 });
  const away = await ofIssuer({ ...METADATA_OF(), [at]: trouble });
  await assertRejects(() => away.register(redirect, ""), OutOfReachError);
});

Deno.test("checkDocument() needs a server that takes the address of a document", async () => {
  for (const supported of [true, false, undefined]) {
    const more = { client_id_metadata_document_supported: supported };
    const server = await ofIssuer(METADATA_OF(more));
    const check = () => Promise.try(() => server.checkDocument());
    if (supported) await check();
    else await assertRejects(check, AuthorizationError, "takes no address");
  }
});

Deno.test("page() makes the address of a web page, with the scope if there is one", async () => {
  const request = { redirectUrl: "http://127.0.0.1:1/", state: "s" };
  const server = await ofIssuer(METADATA_OF());
  for (const scope of ["", "read"]) {
    const { url, verifier } = await server.page(CLIENT, { ...request, scope });
    const { searchParams } = new URL(url);
    assertEquals(url.split("?")[0], METADATA.authorization_endpoint);
    assertEquals(searchParams.get("state"), "s");
    assertEquals(searchParams.get("client_id"), "c1");
    assertEquals(searchParams.get("scope"), scope || null);
    assert(verifier.length > 40);
  }
  const rows: [more: object, part: string][] = [
    [{ response_types_supported: ["token"] }, "cannot be used"],
    [{ code_challenge_methods_supported: ["plain"] }, "cannot be used"],
    [{ authorization_endpoint: "app://open" }, "is not a web page (app:)"],
  ];
  for (const [more, part] of rows) {
    const other = await ofIssuer(METADATA_OF(more));
    const page = () => other.page(CLIENT, { ...request, scope: "" });
    await assertRejects(page, AuthorizationError, part);
  }
});

Deno.test("refresh() returns tokens, or what the server no longer accepts; other failures are errors", async () => {
  const at = METADATA.token_endpoint;
  const refresh = async (answer: unknown) =>
    await (await ofIssuer({ ...METADATA_OF(), [at]: answer }))
      .refresh(CLIENT, "r1");
  const issued = { ...TOKENS, refresh_token: "r2" };
  const rows: [answer: unknown, outcome: unknown][] = [
    [issued, { ...issued, issuer: ISSUER }],
    [TOKENS, { ...TOKENS, refresh_token: "r1", issuer: ISSUER }],
    [refusal("invalid_grant"), "tokens"],
    [refusal("invalid_client", {}, 401), "client"],
    [refusal("unauthorized_client"), "client"],
  ];
  for (const [answer, outcome] of rows) {
    assertEquals<unknown>(await refresh(answer), outcome);
  }
  const error = await assertRejects(() => refresh(refusal("invalid_scope")));
  assert(!(error instanceof OutOfReachError));
  const trouble = refusal("invalid_grant", {}, 503);
  assertInstanceOf(await refresh(trouble).catch(Object), OutOfReachError);
});

Deno.test("revoke() revokes both tokens as the client authenticates, where the server can", async () => {
  const at = `${ISSUER}/revoke`;
  const secret = { ...CLIENT, client_secret: "s1" };
  const tokens = { ...TOKENS, refresh_token: "r1" };
  const of = (token: string, kind: string, more: string) =>
    `token=${token}&token_type_hint=${kind}_token${more}`;
  const both = (head: string, more: string) => [
    `POST ${at}${head} ${of("r1", "refresh", more)}`,
    `POST ${at}${head} ${of("a1", "access", more)}`,
  ];
  const basic = ["client_secret_basic"];
  const post = ["client_secret_post"];
  const rows: [
    methods: unknown,
    client: typeof CLIENT | undefined,
    revoked: boolean,
    requests: string[],
  ][] = [
    [undefined, CLIENT, true, both("", "&client_id=c1")],
    [basic, secret, true, both(` Basic ${btoa("c1:s1")}`, "")],
    [post, secret, true, both("", "&client_id=c1&client_secret=s1")],
    [undefined, undefined, false, []],
  ];
  for (const [methods, client, revoked, expected] of rows) {
    const { fetch, requests } = web({
      ...METADATA_OF({
        revocation_endpoint: at,
        revocation_endpoint_auth_methods_supported: methods,
      }),
      [at]: {},
    });
    const server = await AuthorizationServer.ofIssuer(ISSUER, fetch, signal);
    requests.length = 0;
    assertEquals(await server.revoke({ client, tokens }), revoked);
    assertEquals(requests, expected);
  }
  const { fetch, requests } = web(METADATA_OF({ revocation_endpoint: at }));
  const server = await AuthorizationServer.ofIssuer(ISSUER, fetch, signal);
  requests.length = 0;
  assertEquals(await server.revoke({ client: CLIENT }), true);
  assertEquals(requests, []);
  const refused = () => server.revoke({ client: CLIENT, tokens });
  await assertRejects(refused, Error, "HTTP 404");
  assertEquals(requests.length, 1);
  const none = await ofIssuer(METADATA_OF());
  assertEquals(await none.revoke({ client: CLIENT, tokens }), false);
});
