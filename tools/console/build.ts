import {
  APPROVE_MODULE,
  approveModule,
  ASSETS_MODULE,
  assetsModule,
} from "./assets.ts";

await Deno.writeTextFile(ASSETS_MODULE, await assetsModule());
await Deno.writeTextFile(APPROVE_MODULE, await approveModule());
