import { assertEquals } from "@std/assert";
import {
  announced,
  isTolerated,
  parseFindings,
} from "../../../tools/docs/doc_findings.ts";

const OUTPUT = `Warning Failed resolving types. Could not find package 'zlib'.
    at file:///cache/index.d.ts:116:21
error[private-type-ref]: public type 'mk' references private type 'Server'
  --> /repo/server/mod.ts:13:1
   | 
13 | export function mk(): Server;
   | ^
   = hint: make the referenced type public or remove the reference
   | 
96 | export declare class Server<
   | - this is the referenced type
   | 

  info: to ensure documentation is complete all types must be public


error[missing-jsdoc]: exported symbol is missing JSDoc documentation
 --> /repo/protocol/mod.ts:2:24
  | 
2 | export interface Pub { q: Priv; 
  |                       ^


error: Found 2 documentation lint errors.
`;

const referenced = { line: 96, text: "export declare class Server<" };
const npmType = { rule: "private-type-ref", referenced };
const missing = { rule: "missing-jsdoc", referenced: undefined };

Deno.test("parseFindings() returns each finding with its rule, file and referenced line", () => {
  const findings = parseFindings(OUTPUT)
    .map(({ rule, file, referenced }) => ({ rule, file, referenced }));
  assertEquals(findings, [
    { ...npmType, file: "/repo/server/mod.ts" },
    { ...missing, file: "/repo/protocol/mod.ts" },
  ]);
  assertEquals([announced(OUTPUT), announced("Checked 5 files\n")], [2, 0]);
});

Deno.test("isTolerated() allows types of npm packages only in roles", () => {
  for (const room of ["server", "agent", "computer"]) {
    assertEquals(isTolerated(npmType, `${room}/mod.ts`, false), true);
    assertEquals(isTolerated(npmType, `${room}/mod.ts`, true), false);
    assertEquals(isTolerated(missing, `${room}/mod.ts`, false), false);
  }
  assertEquals(isTolerated(npmType, "protocol/mod.ts", false), false);
  assertEquals(isTolerated(npmType, "mod.ts", false), false);
});
