import { compileScan, SCAN_MODULE } from "./compile_scan.ts";

await Deno.writeTextFile(SCAN_MODULE, await compileScan());
