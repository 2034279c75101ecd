/**
 * Writes the npm tarball, with its commands, into the current folder.
 *
 * @module
 */
import { npmPackage } from "./npm_package.ts";

console.log(await npmPackage(Deno.cwd()));
