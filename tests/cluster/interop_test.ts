import { byMcpName } from "../interop/support/casts.ts";
import {
  ourAgent,
  ourComputer,
  pythonAgent,
  pythonComputer,
} from "../interop/support/parties.ts";
import { KNOWN, play } from "../interop/support/scenario.ts";
import type { Sdk } from "../interop/support/venv.ts";
import { openWorkplace } from "../interop/support/workplace.ts";
import { startCluster } from "../support/cluster/cluster.ts";
import { startProxy } from "../support/proxy.ts";

type Kind = "our" | "Python";

/** An Agent on one node, a Computer on another; they do all that the suite of interop has. */
const CASTS: readonly (readonly [Sdk, Kind, Kind])[] = [
  ["0.2", "our", "our"],
  ["0.2", "Python", "our"],
  ["0.2", "our", "Python"],
  ["0.2", "Python", "Python"],
  ["0.4", "our", "our"],
];

for (const [sdk, agentKind, computerKind] of CASTS) {
  Deno.test({
    name:
      `${sdk}: ${agentKind} Agent on one node, ${computerKind} Computer on another`,
    timeout: 600_000,
  }, async (t) => {
    await using cluster = await startCluster({
      nodes: 2,
      flags: ["--protocol", sdk],
    });
    await using place = await openWorkplace();
    await using left = await startProxy(cluster.node(0).url);
    await using right = await startProxy(cluster.node(1).url);
    await using agent = agentKind === "our"
      ? ourAgent(sdk, left.url)
      : await pythonAgent(sdk, left.url);
    await using computer = computerKind === "our"
      ? await ourComputer(right.url, place)
      : await pythonComputer(sdk, right.url, place);
    await play(t, {
      sdk,
      computerSdk: sdk,
      agent: byMcpName(sdk, agent),
      computer,
      place,
      lose: (party) => (party === "agent" ? left : right).sever(),
    }, KNOWN[`${sdk} ${computerKind} computer`]);
    await cluster.proved();
  });
}
