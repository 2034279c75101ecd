import { ASSETS_MODULE, assetsModule } from "./assets.ts";

await Deno.writeTextFile(ASSETS_MODULE, await assetsModule());
