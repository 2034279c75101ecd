import { assertEquals } from "@std/assert";
import type { OfficeRegistry } from "../../../server/mod.ts";
import { member } from "../member.ts";
import { fresh } from "./claims.ts";

/** Tests what a registry makes of many who come at once; a part of its contract. */
export function testRaces(
  test: (
    promise: string,
    run: (registry: OfficeRegistry) => Promise<void>,
  ) => void,
): void {
  test("of many who want one seat at once, one gets it", async (registry) => {
    for (const role of ["agent", "computer"] as const) {
      const claims = await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          registry.claim(
            member({ role, name: "pc", socket: `${role}${index}` }),
            fresh,
            100,
          )),
      );
      assertEquals(claims.filter(({ kind }) => kind === "admit").length, 1);
    }
    assertEquals((await registry.list("north")).length, 2);
  });

  test("of many who come at once, no more are admitted than there are places", async (registry) => {
    const claims = await Promise.all(
      Array.from(
        { length: 24 },
        (_, index) =>
          registry.claim(
            member({ name: `pc${index}`, socket: `s${index}` }),
            fresh,
            5,
          ),
      ),
    );
    assertEquals(claims.filter(({ kind }) => kind === "admit").length, 5);
    assertEquals((await registry.list("north")).length, 5);
  });
}
