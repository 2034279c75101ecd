import { assertEquals } from "@std/assert";
import { COMPUTER, OFFICE } from "../parties/party.ts";
import { WINDOW } from "../workplace/workplace.ts";
import { exposedName, hasBundleIds, type Step, textOf } from "./step.ts";

/** Both come in. */
export const JOIN = {
  join: async ({ agent, computer }) => {
    await agent.join();
    await computer.join();
    assertEquals(await agent.heard("enter_office"), {
      office_id: OFFICE,
      computer: COMPUTER,
    });
  },
} satisfies Record<string, Step>;

/** Who is there. */
export const LIST = {
  list: async ({ agent }) => {
    assertEquals(await agent.computers(), [COMPUTER]);
  },
} satisfies Record<string, Step>;

/** The windows of a Computer. */
export const DESKTOP = {
  desktop: async ({ agent }) => {
    assertEquals(await agent.desktop(), [`${WINDOW}\n\ncontents of ${WINDOW}`]);
  },
} satisfies Record<string, Step>;

/** The configuration of a Computer. */
export const CONFIG = {
  config: async ({ sdk, agent }) => {
    const { servers } = await agent.config();
    const files = hasBundleIds(sdk) ? "My_Files" : "My Files";
    assertEquals(Object.keys(Object(servers)).sort(), [
      files,
      "Vault",
      "fixture",
    ]);
  },
} satisfies Record<string, Step>;

/** What an Agent hears of a Computer. */
export const NOTIFICATIONS = {
  "notify update_config": async ({ agent, computer }) => {
    await computer.updateConfig();
    assertEquals(await agent.heard("update_config"), { computer: COMPUTER });
  },
  "notify update_tool_list": async ({ agent }) => {
    await agent.call("add_tool", { name: "fresh" });
    assertEquals(await agent.heard("update_tool_list"), { computer: COMPUTER });
  },
  "a new tool can be called": async ({ computerSdk, agent }) => {
    const fresh = exposedName(computerSdk, "fresh");
    const isListed = async () =>
      (await agent.tools()).some(({ name }) => name === fresh);
    // Earlier notifications may stem from the Computer's join.
    while (!await isListed()) await agent.heard("update_tool_list");
    assertEquals(textOf(await agent.call("fresh", { text: "new" })), "new");
  },
  "notify update_desktop": async ({ agent }) => {
    await agent.call("touch", { uri: WINDOW });
    assertEquals(await agent.heard("update_desktop"), { computer: COMPUTER });
  },
} satisfies Record<string, Step>;

/** Connections that end without a farewell. */
export const RECONNECT = {
  "reconnect of the Agent": async (office) => {
    office.lose("agent");
    await office.agent.rejoin();
    assertEquals(await office.agent.computers(), [COMPUTER]);
    const result = await office.agent.call("echo", { text: "again" });
    assertEquals(textOf(result), "again");
  },
  "reconnect of the Computer": async (office) => {
    const { agent, computer } = office;
    const both = { office_id: OFFICE, computer: COMPUTER };
    office.lose("computer");
    assertEquals(await agent.heard("leave_office"), both);
    await computer.rejoin();
    assertEquals(await agent.heard("enter_office"), both);
    assertEquals(textOf(await agent.call("echo", { text: "back" })), "back");
  },
} satisfies Record<string, Step>;

/** Both go. */
export const LEAVE = {
  leave: async ({ agent, computer }) => {
    await computer.leave();
    assertEquals(await agent.heard("leave_office"), {
      office_id: OFFICE,
      computer: COMPUTER,
    });
    assertEquals(await agent.computers(), []);
    await agent.leave();
  },
} satisfies Record<string, Step>;
