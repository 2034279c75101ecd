import { here, type Recipe } from "./running.ts";

const PERMISSIONS = [
  "--allow-net",
  "--allow-env",
  "--allow-read",
  "--allow-sys",
];

/** Runs a script of this folder with Deno. */
const deno = (name: string, file: string, raw = false): Recipe => ({
  name,
  raw,
  command: Deno.execPath(),
  args: ["run", "--no-prompt", ...PERMISSIONS, here(file)],
});

/** The servers that can be measured, by name; each is made ready once, when it is asked for. */
export const CONTESTANTS: Readonly<
  Record<string, () => Recipe | Promise<Recipe>>
> = {
  floor: () => deno("floor", "floor_deno.ts", true),
  "ws-deno": () => deno("ws-deno", "floor_ws.ts", true),
  stock: () => deno("stock", "stock.ts"),
  ours: () => ({
    name: "ours",
    command: Deno.execPath(),
    args: [
      "run",
      "--no-prompt",
      ...PERMISSIONS,
      "server/main.ts",
      "--port=0",
      // 100 events per second of one connection would stop the load; no other limit does.
      "--max-events-per-second=1000000",
    ],
    listening: /listening on http:\/\/[^:]+:(\d+)/,
  }),
};
