import { assert, assertEquals, assertGreater } from "@std/assert";
import type {
  Joiner,
  Member,
  OfficeRegistry,
  Seat,
} from "../../../server/mod.ts";
import { member } from "../member.ts";
import { admitted, fresh, seen } from "./claims.ts";
import { testRaces } from "./registry_races.ts";

/** A registry without members, for one test. */
export interface OpenRegistry extends AsyncDisposable {
  readonly registry: OfficeRegistry;
}

/**
 * Tests the contract of {@linkcode OfficeRegistry} (spec §5, §9, §10), with one implementation.
 *
 * @param name what it is called in the names of the tests
 */
export function testRegistryContract(
  name: string,
  open: () => Promise<OpenRegistry>,
): void {
  const test = (
    promise: string,
    run: (registry: OfficeRegistry) => Promise<void>,
  ) => {
    Deno.test(`${name}: ${promise}`, async () => {
      await using opened = await open();
      await run(opened.registry);
    });
  };
  const pc = (over: Partial<Member> = {}) => member(over);
  const agent = (over: Partial<Member> = {}) =>
    member({ role: "agent", name: "boss", ...over });

  test("an office has one Agent, whatever its name", async (registry) => {
    const first = agent();
    admitted(await registry.claim(first, fresh, 10));
    for (const name of ["boss", "other"]) {
      assertEquals(
        await registry.claim(agent({ name, socket: "s2" }), fresh, 10),
        { kind: "refuse", reason: "Room already has an agent" },
      );
    }
    assertEquals(await sockets(registry), ["s1"]);
    admitted(
      await registry.claim(agent({ office: "south", socket: "s2" }), fresh, 10),
    );
  });

  test("a Computer's name is taken once in its office, and free in others", async (registry) => {
    admitted(await registry.claim(pc(), fresh, 10));
    assertEquals(await registry.claim(pc({ socket: "s2" }), fresh, 10), {
      kind: "refuse",
      reason: 'Computer "pc" already exists in the room',
    });
    admitted(await registry.claim(pc({ name: "PC", socket: "s2" }), fresh, 10));
    admitted(
      await registry.claim(pc({ office: "south", socket: "s3" }), fresh, 10),
    );
    assertEquals(await sockets(registry), ["s1", "s2"]);
    assertEquals(await sockets(registry, "south"), ["s3"]);
  });

  test("an Agent and a Computer may have one name", async (registry) => {
    admitted(await registry.claim(pc({ name: "A" }), fresh, 10));
    admitted(
      await registry.claim(agent({ name: "A", socket: "s2" }), fresh, 10),
    );
    assertEquals(await sockets(registry), ["s2", "s1"]);
  });

  test("a member that joins its own office again has it already", async (registry) => {
    for (const each of [pc(), agent({ socket: "s2" })]) {
      admitted(await registry.claim(each, fresh, 10));
      assertEquals(await registry.claim(each, joined(each), 10), {
        kind: "already-member",
      });
    }
    assertEquals(await sockets(registry), ["s2", "s1"]);
  });

  test("a member cannot take another name in its office", async (registry) => {
    admitted(await registry.claim(pc(), fresh, 10));
    const claim = await registry.claim(pc({ name: "mac" }), joined(pc()), 10);
    assertEquals(claim.kind, "refuse");
    assertEquals(await sockets(registry), ["s1"]);
  });

  test("an Agent cannot join a second office", async (registry) => {
    admitted(await registry.claim(agent(), fresh, 10));
    const claim = await registry.claim(
      agent({ office: "south" }),
      joined(agent()),
      10,
    );
    assertEquals(claim.kind, "refuse");
    assertEquals(await sockets(registry, "south"), []);
  });

  test("a Computer that joins another office is told to leave its own, and keeps that seat until then", async (registry) => {
    admitted(await registry.claim(pc(), fresh, 10));
    const moved = pc({ office: "south" });
    const claim = admitted(await registry.claim(moved, joined(pc()), 10));
    assertEquals(claim.leave, pc());
    assertEquals(await sockets(registry), ["s1"]);
    assertGreater(await registry.release(pc()), claim.rev);
    assertEquals(await sockets(registry), []);
    assertEquals(await sockets(registry, "south"), ["s1"]);
  });

  test("a role is fixed, also after the leave", async (registry) => {
    const roles = { role: "agent", member: undefined } as const;
    assertEquals(
      (await registry.claim(pc(), roles, 10)).kind,
      "refuse",
    );
    assertEquals(await sockets(registry), []);
  });

  for (
    const [what, principals, comesBack] of [
      ["the same instance takes its seat over", ["me", "me"], true],
      ["an instance without authentication too", [undefined, undefined], true],
      ["another principal does not", ["me", "you"], false],
      ["nor one that lost its principal", ["me", undefined], false],
    ] as const
  ) {
    test(`${what} (§9)`, async (registry) => {
      for (const role of ["computer", "agent"] as const) {
        const [before, now] = principals.map((principal, index) =>
          member({
            role,
            name: "pc",
            instance: "i",
            principal,
            socket: `${role}${index}`,
          })
        ) as [Member, Member];
        const first = admitted(await registry.claim(before, fresh, 10));
        const claim = await registry.claim(now, fresh, 10);
        assertEquals(claim.kind, comesBack ? "admit" : "refuse");
        if (claim.kind !== "admit") continue;
        assertEquals(claim.evict && seen(claim.evict), seen(before));
        assertEquals(claim.evict?.rev, first.rev);
        assertGreater(claim.rev, first.rev);
        // The former holder goes afterwards, and takes nothing along.
        assertEquals(await registry.release(before), 0);
        assert((await sockets(registry)).includes(now.socket));
      }
    });
  }

  test("without an instance nobody counts as the same", async (registry) => {
    admitted(await registry.claim(pc({ principal: "me" }), fresh, 10));
    const again = pc({ principal: "me", socket: "s2" });
    assertEquals((await registry.claim(again, fresh, 10)).kind, "refuse");
  });

  test("a full office admits nobody but who takes a seat over (§10)", async (registry) => {
    admitted(await registry.claim(pc({ instance: "i" }), fresh, 2));
    admitted(await registry.claim(agent({ socket: "s2" }), fresh, 2));
    const third = pc({ name: "mac", socket: "s3" });
    assertEquals(await registry.claim(third, fresh, 2), {
      kind: "refuse",
      reason: "Room is full: it has as many members as this server allows",
      full: true,
    });
    // A seat that is taken is no matter of places.
    const stranger = await registry.claim(pc({ socket: "s4" }), fresh, 2);
    assert(stranger.kind === "refuse" && !stranger.full);
    const back = pc({ instance: "i", socket: "s5" });
    admitted(await registry.claim(back, fresh, 2));
    await registry.release(agent({ socket: "s2" }));
    admitted(await registry.claim(third, fresh, 2));
  });

  test("release() frees a seat once, and not that of another socket", async (registry) => {
    const { rev } = admitted(await registry.claim(pc(), fresh, 10));
    assertEquals(await registry.release(pc({ socket: "s2" })), 0);
    assertEquals(await registry.release(pc({ office: "south" })), 0);
    assertEquals(await registry.release(agent()), 0);
    assertGreater(await registry.release(pc()), rev);
    assertEquals(await registry.release(pc()), 0);
    assertEquals(await registry.list("north"), []);
    admitted(await registry.claim(pc({ socket: "s2" }), fresh, 10));
  });

  test("list() has the Agent first, then Computers in the order of their joins", async (registry) => {
    const members = [
      pc({ instance: "i" }),
      pc({ name: "mac", socket: "s2" }),
      agent({ socket: "s3" }),
      pc({ instance: "i", socket: "s4" }),
    ];
    for (const each of members) {
      admitted(await registry.claim(each, fresh, 10));
    }
    const list = await registry.list("north");
    assertEquals(list.map(seen), [
      seen(agent({ socket: "s3" })),
      seen(pc({ name: "mac", socket: "s2" })),
      seen(pc({ socket: "s4" })),
    ]);
    for (const each of members) await registry.release(each);
    for (const office of ["north", "constructor", "__proto__", ""]) {
      assertEquals(await registry.list(office), []);
    }
  });

  test("a claim has all seats of the office in that very step, if asked for", async (registry) => {
    admitted(await registry.claim(agent({ socket: "s2" }), fresh, 10));
    admitted(
      await registry.claim(pc({ office: "south", socket: "s3" }), fresh, 10),
    );
    const claim = admitted(await registry.claim(pc(), fresh, 10, true));
    assertEquals(claim.seats?.map(seen), [
      seen(agent({ socket: "s2" })),
      seen(pc()),
    ]);
    assertEquals(claim.seats?.at(-1)?.rev, claim.rev);
    const more = pc({ name: "mac", socket: "s4" });
    assertEquals(
      admitted(await registry.claim(more, fresh, 10)).seats,
      undefined,
    );
  });

  test("each admission and each release is a step; a seat has the step of its claim", async (registry) => {
    const steps: number[] = [];
    const step = (rev: number) => {
      assertGreater(rev, steps.at(-1) ?? 0);
      steps.push(rev);
    };
    step(admitted(await registry.claim(pc(), fresh, 10)).rev);
    const [seat] = await registry.list("north");
    assertEquals(seat?.rev, steps[0]);
    step(
      admitted(await registry.claim(agent({ socket: "s2" }), fresh, 10)).rev,
    );
    await registry.claim(pc({ socket: "s3" }), fresh, 10);
    step(await registry.release(pc()));
    step(admitted(await registry.claim(pc(), fresh, 10)).rev);
  });

  test("offices, names and sockets with any characters stay apart", async (registry) => {
    const texts = [
      "a",
      "a:b",
      "b",
      "ä\u2028\u{1f4bb}",
      '"',
      "\\n",
      "{x}",
      "A",
      "C",
    ];
    const members = texts.flatMap((office, i) =>
      texts.map((name, j) => pc({ office, name, socket: `s${i}.${j}` }))
    );
    for (const each of members) {
      admitted(await registry.claim(each, fresh, 100));
    }
    for (const office of texts) {
      assertEquals(
        (await registry.list(office)).map(seen),
        members.filter((each) => each.office === office).map(seen),
      );
    }
    for (const each of members) assertGreater(await registry.release(each), 0);
  });

  testRaces(test);
}

const joined = (seat: Member): Joiner => ({ role: seat.role, member: seat });

const sockets = async (
  registry: OfficeRegistry,
  office = "north",
): Promise<string[]> =>
  (await registry.list(office)).map(({ socket }: Seat) => socket);
