import { assertEquals, assertThrows } from "@std/assert";
import {
  checkWorkerOptions,
  type SmcpWorkerOptions,
} from "../../../../server/workers/options.ts";
import { smcpWorker } from "../../../../server/workers/mod.ts";

/** Options as a program without types may give them. */
const given = (options: object): SmcpWorkerOptions => ({
  insecure: true,
  ...options,
});

Deno.test("smcpWorker() names each option that a Worker cannot keep, with the reason", () => {
  for (
    const [options, message] of [
      [
        { cluster: {} },
        "with cluster: its objects are one already; leave it out",
      ],
      [
        { trustedProxies: 1 },
        "with trustedProxies: the platform says who the client is; leave it out",
      ],
      [
        { wsEngine: "fast" },
        "with wsEngine: the WebSockets are the platform's; leave it out",
      ],
      [
        { limits: { queuedBytes: 1 } },
        "with limits.queuedBytes: the platform does not say what it has queued; leave it out",
      ],
      [
        { limits: { unfinishedBytes: 1 } },
        "with limits.unfinishedBytes: the platform shows a message when it is complete; leave it out",
      ],
      [{ protocol: "9" }, 'Cannot serve the protocol "9"'],
      [
        { fronts: 0 },
        "Cannot use 0 fronts: expected a whole number from 1 to 100",
      ],
      [{ fronts: 1.5 }, "Cannot use 1.5 fronts"],
      [
        { maxMessageBytes: 2 ** 25 },
        "a WebSocket of Cloudflare carries at most 33488896 bytes of a client",
      ],
    ] as const
  ) {
    assertThrows(() => smcpWorker(given(options)), TypeError, message);
  }
});

Deno.test("smcpWorker() refuses to serve the internet without authentication, unless insecure is set", () => {
  assertThrows(
    () => smcpWorker({}),
    TypeError,
    "set authenticator, such as apiKeys(parseApiKeys(env.SMCP_KEYS)), or insecure: true",
  );
  assertThrows(
    () => smcpWorker({ insecure: false }),
    TypeError,
    "without authentication",
  );
  assertEquals(checkWorkerOptions({ insecure: true }), {
    fronts: 4,
    single: false,
  });
});

Deno.test("smcpWorker() evaluates a function of env at the first request, and throws its error there", async () => {
  const envs: unknown[] = [];
  const { worker } = smcpWorker((env: { readonly SMCP_KEYS?: string }) => {
    envs.push(env);
    return {};
  });
  assertEquals(envs, []);
  const env = { SMCP_KEYS: "[]" };
  let message = "";
  await worker.fetch(new Request("https://smcp.example/health"), env)
    .catch((error: Error) => message = error.message);
  assertEquals(envs, [env]);
  assertEquals(message.startsWith("Cannot serve the internet without"), true);
});

Deno.test("a Worker without its bindings says which is missing", async () => {
  const { worker } = smcpWorker({ insecure: true });
  const url =
    "https://smcp.example/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";
  let message = "";
  await worker.fetch(new Request(url), {})
    .catch((error: Error) => message = error.message);
  assertEquals(
    message.startsWith("Cannot serve without the binding FRONT"),
    true,
    message,
  );
});
