/**
 * A program that uses a file of sign-ins, and says what it did after each answer: with `write` it replaces
 * the number of a grant until it is killed, with `race` it takes codes that another process takes too.
 *
 * @module
 */
import { sqliteStore } from "../../../server/sign_in/sqlite_store.ts";
import { newGrant, newHash } from "./sign_in_stores.ts";

const [mode, file = "", ...hashes] = Deno.args;
await using store = await sqliteStore(file);
if (mode === "race") {
  console.log(`secret ${await store.secret()}`);
  for (const hash of hashes) {
    if (await store.takeCode(hash) !== undefined) console.log(`took ${hash}`);
  }
} else {
  const grant = newGrant();
  await store.putGrant(grant, newHash());
  for (let number = 1;; number++) {
    console.log(`kept ${number} ${grant.id}`);
    await store.rotate({ ...grant, number: number + 1 }, number);
  }
}
