import { assert, assertEquals, assertRejects } from "@std/assert";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createTcp } from "node:net";
import {
  fetchPublic,
  isPublicAddress,
  type PublicNetwork,
} from "../../../shared/net/public_fetch.ts";
import {
  type Certificate,
  newAuthority,
  newCertificate,
} from "../../support/certificates.ts";

const BOUNDS = { maxBytes: 10_240, timeoutMs: 5000 };
const NAME = "client.example";

const NOT_PUBLIC = [
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.8",
  "192.0.2.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "0:0:0:0:0:0:0:1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::a00:1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:a00:1::1",
  "3fff::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%eth0",
  "ff02::1",
  // No lookup returns these.
  "127.1",
  "0x7f000001",
  "2130706433",
  "0177.0.0.1",
  "localhost",
  "",
];

Deno.test("sign-in #25: no address of this machine, its network, its cloud or a translation is public", () => {
  for (const address of NOT_PUBLIC) {
    assertEquals(isPublicAddress(address), false, address);
  }
  for (
    const address of [
      "1.1.1.1",
      "160.79.104.10",
      "172.32.0.1",
      "2606:4700::1111",
      "2a00:1450:4001::1",
    ]
  ) assertEquals(isPublicAddress(address), true, address);
});

/** A network in which each name has these addresses. */
const networkOf = (
  addresses: readonly string[],
  over: Partial<PublicNetwork> = {},
): PublicNetwork => ({
  lookup: () =>
    Promise.resolve(
      addresses.map((address) => ({
        address,
        family: address.includes(":") ? 6 : 4,
      })),
    ),
  allows: isPublicAddress,
  ...over,
});

Deno.test("sign-in #25: what is at no public address is refused before a connection, whatever else it has", async () => {
  const attempts: string[] = [];
  const trap = createTcp((socket) => {
    attempts.push("connected");
    socket.destroy();
  });
  trap.listen(0, "127.0.0.1");
  await once(trap, "listening");
  const { port } = trap.address() as AddressInfo;
  const refused = (url: string, network?: PublicNetwork) =>
    assertRejects(
      () => fetchPublic(new URL(url), BOUNDS, network),
      Error,
      "not at a public address",
      url,
    );
  for (
    const host of [
      "127.0.0.1",
      "127.1",
      "0x7f000001",
      "0177.0.0.1",
      "2130706433",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "localhost",
      "x.localhost",
    ]
  ) await refused(`https://${host}:${port}/c`);
  const at = `https://${NAME}:${port}/c`;
  for (const address of NOT_PUBLIC) await refused(at, networkOf([address]));
  // One that is private spoils the rest: DNS of an attacker mixes them.
  await refused(at, networkOf(["1.1.1.1", "127.0.0.1"]));
  await refused(at, networkOf([]));
  await refused(`http://${NAME}:${port}/c`, networkOf(["1.1.1.1"]));
  const lookup = () => Promise.reject(new Error("no such name"));
  await refused(at, networkOf([], { lookup }));
  assertEquals(attempts, []);
  trap.close();
  await once(trap, "close");
});

/** Serves documents by TLS on loopback, which counts as public. */
class DocumentServer implements AsyncDisposable {
  readonly hosts: (string | undefined)[] = [];
  lookups = 0;
  readonly #server;
  readonly #ca: string;

  private constructor(
    authority: Certificate,
    own: Certificate,
    answer: RequestListener,
  ) {
    this.#ca = authority.cert;
    this.#server = createServer(own, (request, response) => {
      this.hosts.push(request.headers.host);
      answer(request, response);
    });
  }

  static async start(
    answer: RequestListener,
    host = NAME,
  ): Promise<DocumentServer> {
    const authority = await newAuthority("Test");
    const own = await newCertificate("own", authority, { host });
    const server = new DocumentServer(authority, own, answer);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): URL {
    const { port } = this.#server.address() as AddressInfo;
    return new URL(`https://${NAME}:${port}/client.json?x=1`);
  }

  /** Of the name, the first lookup has this server's address, and all others another. */
  get network(): PublicNetwork {
    return {
      lookup: () => {
        const address = this.lookups++ === 0 ? "127.0.0.1" : "127.0.0.2";
        return Promise.resolve([{ address, family: 4 }]);
      },
      allows: () => true,
      ca: this.#ca,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

Deno.test("sign-in #26: the connection goes to the address that was judged, which is looked up once", async () => {
  await using server = await DocumentServer.start((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ path: request.url }));
  });
  const answer = await fetchPublic(server.url, BOUNDS, server.network);
  assertEquals(await answer.json(), { path: "/client.json?x=1" });
  assertEquals(answer.headers.get("content-type"), "application/json");
  assertEquals(server.lookups, 1);
  assertEquals(server.hosts, [server.url.host]);
});

Deno.test("sign-in #26: a host behind the address that has no certificate for the name is refused", async () => {
  await using server = await DocumentServer.start(
    (_request, response) => void response.end("{}"),
    "other.example",
  );
  await assertRejects(() => fetchPublic(server.url, BOUNDS, server.network));
  assertEquals(server.hosts, []);
});

Deno.test("sign-in #27: a redirect is not followed", async () => {
  await using server = await DocumentServer.start((_request, response) => {
    response.writeHead(302, { location: "https://127.0.0.1/secret" });
    response.end();
  });
  const answer = await fetchPublic(server.url, BOUNDS, server.network);
  assertEquals(answer.status, 302);
  assertEquals(server.hosts.length, 1);
});

Deno.test("sign-in #27: a document that is too large ends the connection, also one without end", async () => {
  let isClosed = Promise.withResolvers<void>();
  await using server = await DocumentServer.start((_request, response) => {
    response.on("close", () => isClosed.resolve());
    const part = "x".repeat(4096);
    const more = () => {
      while (!response.destroyed && response.write(part));
    };
    response.on("drain", more);
    more();
  });
  const error = await assertRejects(
    () => fetchPublic(server.url, BOUNDS, server.network),
    Error,
  );
  assertEquals(error.message, "it has more than 10240 bytes");
  await isClosed.promise;
  isClosed = Promise.withResolvers();
});

Deno.test("sign-in #27: a server that is slow, before its answer and within, is left in time", async () => {
  for (const begins of [false, true]) {
    const isClosed = Promise.withResolvers<void>();
    await using server = await DocumentServer.start((_request, response) => {
      response.on("close", () => isClosed.resolve());
      if (begins) response.write("{");
    });
    const bounds = { ...BOUNDS, timeoutMs: 300 };
    await assertRejects(() => fetchPublic(server.url, bounds, server.network));
    await isClosed.promise;
  }
  const never = networkOf([], { lookup: () => new Promise(() => {}) });
  const bounds = { ...BOUNDS, timeoutMs: 50 };
  const error = await assertRejects(() =>
    fetchPublic(new URL(`https://${NAME}/c`), bounds, never)
  );
  assert(error instanceof DOMException);
});

Deno.test("an address that cannot be reached leads to the next", async () => {
  await using server = await DocumentServer.start((_request, response) =>
    void response.end("{}")
  );
  const network = {
    ...server.network,
    lookup: () =>
      Promise.resolve([
        { address: "::1", family: 6 },
        { address: "127.0.0.9", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ]),
  };
  const answer = await fetchPublic(server.url, BOUNDS, network);
  assertEquals(answer.status, 200);
});
