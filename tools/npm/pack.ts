/**
 * Writes the npm tarballs into the current folder: the library, its commands, and its roles.
 *
 * @module
 */
import { npmPackages } from "./npm_package.ts";

const { sdk, cli, roles } = await npmPackages(Deno.cwd());
console.log([sdk, cli, ...Object.values(roles)].join("\n"));
