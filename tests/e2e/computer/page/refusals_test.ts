import { assert, assertEquals } from "@std/assert";
import { configFile } from "../../../support/computer/config_file.ts";
import { askPage, pageLink } from "../../../support/computer/page_client.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { startOffice } from "../../../support/office.ts";

const TIME = { timeout: 120_000 };

/** Everything that the API has, each with what it takes. */
const REQUESTS: readonly [path: string, post?: unknown][] = [
  ["/state"],
  ["/tools"],
  ["/calls/1"],
  ["/events"],
  ["/unknown"],
  ["/questions/1", { answer: "once" }],
];

async function started() {
  const office = await startOffice();
  const config = await configFile({ servers: {} });
  const computer = runComputer(office, config.file, { flags: ["--ui"] });
  return {
    computer,
    ...await pageLink(computer),
    [Symbol.asyncDispose]: async () => {
      await computer[Symbol.asyncDispose]();
      await config[Symbol.asyncDispose]();
      await office[Symbol.asyncDispose]();
    },
  };
}

Deno.test(
  "the page of a Computer refuses who has not its token, other pages, and forms",
  TIME,
  async (t) => {
    await using page = await started();
    const { url, token } = page;
    const bearer = (text: string) => ({ Authorization: `Bearer ${text}` });
    const refusals: readonly [
      string,
      Record<string, string>,
      number,
      string,
    ][] = [
      ["no token", {}, 401, "Authorization"],
      ["another token", bearer("0".repeat(64)), 401, "Authorization"],
      ["half of it", bearer(token.slice(0, 32)), 401, "Authorization"],
      ["a cookie", { Cookie: `token=${token}` }, 401, "Authorization"],
      ["an API key", { "x-api-key": token }, 401, "Authorization"],
      [
        "another page",
        { ...bearer(token), Origin: "https://evil.example" },
        403,
        "Origin",
      ],
      [
        "another port's page",
        { ...bearer(token), Origin: "http://127.0.0.1:1" },
        403,
        "Origin",
      ],
      ["no page's origin", { ...bearer(token), Origin: "null" }, 403, "Origin"],
      [
        "another site's image",
        { ...bearer(token), "Sec-Fetch-Site": "cross-site" },
        403,
        "Origin",
      ],
    ];
    for (const [what, headers, status, field] of refusals) {
      await t.step(what, async () => {
        for (const [path, post] of REQUESTS) {
          const answer = await askPage(url, path, { post, headers });
          assertEquals(
            [answer.status, answer.type, answer.body.errors[0].field],
            [status, "application/problem+json", field],
            path,
          );
        }
      });
    }
    await t.step("a form", async () => {
      for (
        const type of ["application/x-www-form-urlencoded", "text/plain"]
      ) {
        const answer = await askPage(url, "/questions/1", {
          token,
          post: { answer: "once" },
          headers: { "Content-Type": type },
        });
        assertEquals(answer.status, 415);
      }
    });
    await t.step("a body without end", async () => {
      const post = { answer: "x".repeat(100_000) };
      const { status } = await askPage(url, "/questions/1", { token, post });
      assertEquals(status, 413);
    });
    await t.step("no such thing, or not in this way", async () => {
      assertEquals((await askPage(url, "/unknown", { token })).status, 404);
      assertEquals((await askPage(url, "/calls/1", { token })).status, 404);
      const post = {};
      assertEquals((await askPage(url, "/state", { token, post })).status, 404);
    });
    await t.step("more streams than there can be", async () => {
      const answers = await Promise.all(
        Array.from(
          { length: 17 },
          () => fetch(`${url}/ui/v1/events`, { headers: bearer(token) }),
        ),
      );
      const refused = answers.filter(({ status }) => status === 503);
      assertEquals(refused.length, 1);
      await Promise.all(answers.map(({ body }) => body?.cancel()));
    });
    await t.step("a page of its own may ask", async () => {
      const headers = { Origin: url, "Sec-Fetch-Site": "same-origin" };
      const { status } = await askPage(url, "/state", { token, headers });
      assertEquals(status, 200);
    });
  },
);

Deno.test(
  "the page of a Computer is for loopback names alone, whatever the token",
  TIME,
  async () => {
    await using page = await started();
    const { hostname, port } = new URL(page.url);
    const hosts: readonly [string, string][] = [
      ["evil.example", "403"],
      [`evil.example:${port}`, "403"],
      [`127.0.0.1.evil.example:${port}`, "403"],
      [`0.0.0.0:${port}`, "403"],
      [`localhost:${port}`, "200"],
      ["127.0.0.1:9", "200"], // a tunnel
    ];
    for (const [host, status] of hosts) {
      const paths = status === "403" ? ["/ui/v1/state", "/"] : ["/ui/v1/state"];
      for (const path of paths) {
        const connection = await Deno.connect({ hostname, port: Number(port) });
        await connection.write(new TextEncoder().encode(
          `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${page.token}\r\nConnection: close\r\n\r\n`,
        ));
        const text = await new Response(connection.readable).text();
        assertEquals(text.split(" ")[1], status, `${host} ${path}`);
      }
    }
  },
);

Deno.test(
  "a port for the page that is taken is an error that names its flag",
  TIME,
  async () => {
    await using office = await startOffice();
    await using config = await configFile({ servers: {} });
    const { port } = new URL(office.url);
    await using computer = runComputer(office, config.file, {
      flags: ["--ui-port", port],
    });
    await computer.line(
      /cannot listen on 127\.0\.0\.1 port \d+: .*choose another with --ui-port/,
    );
    assertEquals((await computer.status).code, 1);
    assert(!computer.lines.join("\n").includes("token="));
  },
);
