import { assertEquals } from "@std/assert";
import type { Authenticator } from "../../../server/mod.ts";
import {
  KnownClients,
  RENEWAL_MS,
} from "../../../server/doors/known_clients.ts";
import type { Identity } from "../../../server/shared/identity.ts";
import type { GatewayCaller } from "../../../shared/gateway.ts";
import { standingClock } from "../../support/server/standing_clock.ts";

const ANN = { office: "north", principal: "ann" };
const BOB = { office: "north", principal: "bob" };

/** The clients of a gateway at a clock that stands at 0, and those that it has forgotten. */
function known(refresh?: Authenticator["refresh"]) {
  const { clock, waiting, fire } = standingClock(0);
  const forgotten: GatewayCaller[] = [];
  const authenticator: Authenticator = {
    authenticate: () => ({ refused: "not asked here" }),
    ...(refresh && { refresh }),
  };
  const forget = (caller: GatewayCaller) => void forgotten.push(caller);
  const clients = new KnownClients(authenticator, forget, clock);
  return { clients, clock, waiting, fire, forgotten };
}

Deno.test("a client is forgotten some time after its credentials have expired, unless it comes with others", () => {
  const { clients, clock, fire, waiting, forgotten } = known();
  clients.saw(ANN, { principal: "ann", expiresAt: 1_000 });
  clients.saw(BOB, { principal: "bob", expiresAt: 2_000 });
  clients.saw(ANN, { principal: "ann", expiresAt: 3_000 });
  assertEquals([...waiting.values()], [2_000 + RENEWAL_MS, 3_000 + RENEWAL_MS]);
  clients.saw(BOB, { principal: "bob", expiresAt: 2_000 });
  assertEquals(waiting.size, 2);
  fire();
  assertEquals([clock.now(), forgotten], [3_000 + RENEWAL_MS, [BOB, ANN]]);
  clients.saw(ANN, { principal: "ann" });
  assertEquals(waiting.size, 0);
});

Deno.test("a client keeps what it has in offices that its key is still for, and loses it in others", async () => {
  const policy = { offices: ["north"] };
  const { clients, forgotten } = known((identity) => ({ ...identity, policy }));
  const inSouth = { ...ANN, office: "south" };
  clients.saw(ANN, { principal: "ann" });
  clients.saw(inSouth, { principal: "ann" });
  await clients.recheck();
  await clients.recheck();
  assertEquals(forgotten, [inSouth]);
});

Deno.test("a client stays known while nothing is said of its credentials, and when it comes with others meanwhile", async () => {
  const asked: Identity[] = [];
  const { clients, forgotten } = known(async (identity) => {
    asked.push(identity);
    if (asked.length === 1) return undefined;
    await Promise.resolve();
    return { refused: "it was replaced" };
  });
  clients.saw(ANN, { principal: "ann" });
  await clients.recheck();
  const rechecking = clients.recheck();
  clients.saw(ANN, { principal: "ann", policy: {} });
  await rechecking;
  assertEquals(forgotten, []);
  await clients.recheck();
  assertEquals(forgotten, [ANN]);
});

Deno.test("of too many clients the one not seen for longest is forgotten", () => {
  const { clients, forgotten } = known();
  clients.saw(ANN, { principal: "ann" });
  clients.saw(BOB, { principal: "bob" });
  clients.saw(ANN, { principal: "ann" });
  for (let at = 0; at < 99_999; at++) {
    const principal = `${at}`;
    clients.saw({ office: "north", principal }, { principal });
  }
  assertEquals(forgotten, [BOB]);
});

Deno.test("a shutdown leaves no timer", () => {
  const { clients, waiting, forgotten } = known();
  clients.saw(ANN, { principal: "ann", expiresAt: 1_000 });
  clients.close();
  assertEquals([waiting.size, forgotten.length], [0, 0]);
});
