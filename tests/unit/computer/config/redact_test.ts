import { assertEquals } from "@std/assert";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { redactConfig } from "../../../../computer/config/redact.ts";
import {
  redactArguments,
  redactUrl,
  redactValue,
} from "../../../../computer/util/secrets.ts";
import { parseGetComputerConfigRet } from "../../../../protocol/payloads/config.ts";

Deno.test("redactValue() keeps placeholders, and none of the text around them", () => {
  const rows: [string | number | boolean, string][] = [
    ["secret", "<redacted>"],
    ["", ""],
    [42, "<redacted>"],
    [true, "<redacted>"],
    ["${input:key}", "${input:key}"],
    ["Bearer ${input:key}", "<redacted>${input:key}"],
    [
      "a${input:x}b${input:y}c",
      "<redacted>${input:x}<redacted>${input:y}<redacted>",
    ],
    ["${env:HOME}", "<redacted>"],
    ["private\ue000use", "<redacted>"],
  ];
  for (const [value, expected] of rows) {
    assertEquals(redactValue(value), expected);
  }
});

Deno.test("redactUrl() redacts userinfo, query and fragment, and shows the rest", () => {
  const rows: [string, string][] = [
    ["https://example.com/mcp", "https://example.com/mcp"],
    [
      "https://u:p@example.com/mcp",
      "https://<redacted>:<redacted>@example.com/mcp",
    ],
    ["https://u@example.com", "https://<redacted>@example.com"],
    ["https://u:a@b@example.com", "https://<redacted>:<redacted>@example.com"],
    [
      "https://example.com/a?k=v&l=w",
      "https://example.com/a?k=<redacted>&l=<redacted>",
    ],
    ["https://example.com/?bare", "https://example.com/?<redacted>"],
    ["https://example.com/#t=v", "https://example.com/#t=<redacted>"],
    ["https://example.com/?k=${input:k}", "https://example.com/?k=${input:k}"],
    [
      "https://example.com/?k=x${input:k}",
      "https://example.com/?k=<redacted>${input:k}",
    ],
    [
      "https://${input:u}:${input:p}@example.com",
      "https://${input:u}:${input:p}@example.com",
    ],
    ["https://${input:host}/mcp", "https://${input:host}/mcp"],
    ["${input:base}/mcp?k=v", "${input:base}/mcp?k=<redacted>"],
    ["https://example.com/@scope/a", "https://example.com/@scope/a"],
  ];
  for (const [url, expected] of rows) assertEquals(redactUrl(url), expected);
});

Deno.test("redactArguments() redacts values of options with secret-sounding names, and shows others", () => {
  const rows: [string[], string[]][] = [
    [["--api-key", "v"], ["--api-key", "<redacted>"]],
    [["--api-key=v"], ["--api-key=<redacted>"]],
    [["--TOKEN=a=b"], ["--TOKEN=<redacted>"]],
    [["-token", "v"], ["-token", "<redacted>"]],
    [["--client-secret", "-v"], ["--client-secret", "<redacted>"]],
    [["--password", "${input:p}"], ["--password", "${input:p}"]],
    [["--auth=x${input:p}"], ["--auth=<redacted>${input:p}"]],
    [["--auth", "--port", "80"], ["--auth", "--port", "80"]],
    [["--port", "80", "."], ["--port", "80", "."]],
    [["-y", "@scope/server", "/tmp/a=b"], ["-y", "@scope/server", "/tmp/a=b"]],
    [["-e", "GITHUB_TOKEN=v"], ["-e", "GITHUB_TOKEN=<redacted>"]],
    [["-H", "Authorization: Bearer v"], ["-H", "Authorization: <redacted>"]],
    [["--header=Authorization: Bearer v"], [
      "--header=Authorization: <redacted>",
    ]],
    [["--env=API_KEY=v"], ["--env=API_KEY=<redacted>"]],
    [["postgres://u:p@h/db"], ["postgres://<redacted>:<redacted>@h/db"]],
    [["--db=postgres://u:p@h/db?s=1"], [
      "--db=postgres://<redacted>:<redacted>@h/db?s=<redacted>",
    ]],
  ];
  for (const [args, expected] of rows) {
    assertEquals(redactArguments(args), expected);
  }
});

Deno.test("redactConfig() returns the configuration without secrets", () => {
  const { inputs, servers } = parseComputerConfig({
    inputs: [
      {
        type: "promptString",
        id: "a",
        description: "A",
        default: "s3cret",
        password: true,
      },
      { type: "promptString", id: "b", description: "B", default: "shown" },
      {
        type: "pickString",
        id: "c",
        description: "C",
        options: ["x"],
        hidden: "s3cret",
      },
      {
        type: "command",
        id: "d",
        description: "D",
        command: "pass",
        args: ["--token", "s3cret"],
      },
      {
        type: "command",
        id: "e",
        description: "E",
        command: "pass",
        args: { token: "s3cret", of: "me" },
      },
      ...[
        "curl -H 'Authorization: Bearer s3cret' https://h",
        "TOKEN=s3cret pass",
        "  /usr/bin/pass ",
      ].map((command, i) => ({
        type: "command",
        id: `shell${i}`,
        description: "S",
        command,
      })),
    ],
    // A list, the Python SDK's format, may have unknown fields.
    servers: Object.entries({
      child: {
        type: "stdio",
        server_parameters: {
          command: "run",
          args: ["--key", "s3cret", "."],
          env: { A: "s3cret", B: "${input:a}" },
          hidden: "s3cret",
        },
        oauth: { client_secret: "s3cret" },
        forbidden_tools: ["f"],
        tool_meta: { t: { alias: "u", hidden: "s3cret" } },
        vrl: ".",
      },
      web: {
        type: "http",
        server_parameters: {
          url: "https://s3cret@h/?k=s3cret",
          headers: { "X-Api-Key": "s3cret", "X-Number": 5 },
        },
        default_tool_meta: { auto_apply: true },
      },
      old: {
        type: "sse",
        server_parameters: {
          url: "https://h/sse",
          headers: { a: "Bearer ${input:a}" },
        },
      },
    }).map(([name, server]) => ({ name, ...server })),
  });
  const shown = redactConfig(servers, inputs);
  assertEquals(JSON.stringify(shown).includes("s3cret"), false);
  assertEquals(parseGetComputerConfigRet(shown), shown);
  assertEquals(shown.inputs, [
    { type: "promptString", id: "a", description: "A", password: true },
    { type: "promptString", id: "b", description: "B", default: "shown" },
    { type: "pickString", id: "c", description: "C", options: ["x"] },
    {
      type: "command",
      id: "d",
      description: "D",
      command: "pass",
      args: ["--token", "<redacted>"],
    },
    {
      type: "command",
      id: "e",
      description: "E",
      command: "pass",
      args: { token: "<redacted>", of: "me" },
    },
    ...["curl <redacted>", "<redacted>", "/usr/bin/pass"].map((
      command,
      i,
    ) => ({
      type: "command" as const,
      id: `shell${i}`,
      description: "S",
      command,
    })),
  ]);
  assertEquals(shown.servers, {
    child: {
      name: "child",
      type: "stdio",
      disabled: false,
      forbidden_tools: ["f"],
      tool_meta: { t: { alias: "u" } },
      vrl: ".",
      server_parameters: {
        command: "run",
        args: ["--key", "<redacted>", "."],
        env: { A: "<redacted>", B: "${input:a}" },
        cwd: null,
        encoding: "utf-8",
        encoding_error_handler: "strict",
      },
    },
    web: {
      name: "web",
      type: "streamable",
      disabled: false,
      forbidden_tools: [],
      tool_meta: {},
      default_tool_meta: { auto_apply: true },
      server_parameters: {
        url: "https://<redacted>@h/?k=<redacted>",
        headers: { "X-Api-Key": "<redacted>", "X-Number": "<redacted>" },
        timeout: "PT30S",
        sse_read_timeout: "PT300S",
        terminate_on_close: true,
      },
    },
    old: {
      name: "old",
      type: "sse",
      disabled: false,
      forbidden_tools: [],
      tool_meta: {},
      server_parameters: {
        url: "https://h/sse",
        headers: { a: "<redacted>${input:a}" },
        timeout: 5,
        sse_read_timeout: 300,
      },
    },
  });
});
