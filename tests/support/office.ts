import {
  startOffice as start,
  type TestOffice,
  type TestOfficeOptions,
} from "../../testing/mod.ts";

export { scriptedComputer } from "../../testing/mod.ts";

/** The default office of tests. */
export const OFFICE = "north";

/** A Server on a free port, with a joined Agent and joined Computers. */
export type Office = TestOffice;

/** Starts the public test office as "north", with an Agent "planner". */
export const startOffice = (
  options: TestOfficeOptions = {},
): Promise<TestOffice> =>
  start({
    officeId: OFFICE,
    ...options,
    agent: { name: "planner", ...options.agent },
  });
