import { assertEquals } from "@std/assert";
import { keptLine } from "../../../../computer/cli/shell/shell.ts";

Deno.test("keptLine() keeps commands without parameters, values and definitions, and nothing else", () => {
  const rows: [line: string, kept: string | undefined][] = [
    ["status ", "status "],
    ["exit", "exit"],
    ["quit", "quit"],
    ["server rm files", "server rm files"],
    ["inputs value get token", "inputs value get token"],
    [
      'tc {"tool_name": "login", "params": {"password": "s3cret"}}',
      'tc {"tool_name":"login"}',
    ],
    ['tc {"tool_name": "login", "params": {"password": "s3cret"', "tc"],
    ["tc @call.json", "tc @call.json"],
    ["inputs value set token s3cret", "inputs value set token"],
    ["inputs  value\tset token  s3cret", "inputs value set token"],
    ["inputs value set token @s3cret", "inputs value set token"],
    ['inputs add {"default": "s3cret"}', "inputs add"],
    ['inputs update {"default": "s3cret"}', "inputs update"],
    ["inputs add @input.json", "inputs add @input.json"],
    ['server add {"env": {"TOKEN": "s3cret"}}', "server add"],
    ['render {"a": "s3cret"}', "render"],
    [
      "socket connect https://me:s3cret@host/",
      "socket connect https://<redacted>:<redacted>@host/",
    ],
    ["socket connect https://host/", "socket connect https://host/"],
    ["inputs valu set token s3cret", undefined],
    ["s3cret", undefined],
    ["", undefined],
  ];
  for (const [line, kept] of rows) assertEquals(keptLine(line), kept, line);
});
