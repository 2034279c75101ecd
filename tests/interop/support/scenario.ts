import { IMAGE, SKILLS, UPLOAD } from "./steps/content.ts";
import {
  CONFIG,
  DESKTOP,
  JOIN,
  LEAVE,
  LIST,
  NOTIFICATIONS,
  RECONNECT,
} from "./steps/offices.ts";
import type { Office, Step } from "./steps/step.ts";
import {
  AUTHORIZATION,
  CALL,
  CANCEL,
  ERRORS,
  TIMEOUT,
  TOOLS,
} from "./steps/tools.ts";
import type { Sdk } from "./venv.ts";

/** The features that must work with any Agent, Server and Computer, in this order: column of the table → steps. */
const FLOW = {
  join: JOIN,
  list: LIST,
  tools: TOOLS,
  call: CALL,
  errors: ERRORS,
  cancel: CANCEL,
  timeout: TIMEOUT,
  authorization: AUTHORIZATION,
  desktop: DESKTOP,
  config: CONFIG,
  skills: SKILLS,
  image: IMAGE,
  upload: UPLOAD,
  notifications: NOTIFICATIONS,
  reconnect: RECONNECT,
  leave: LEAVE,
} satisfies Record<string, Record<string, Step>>;

/** A column of the table in `README.md`. */
export type Column = keyof typeof FLOW;

/** All columns, in their order. */
export const COLUMNS = Object.keys(FLOW) as Column[];

/** The name of a step. */
export type StepName = {
  [C in Column]: keyof (typeof FLOW)[C];
}[Column];

/** The first version that has a feature; default 0.1. */
const SINCE: Partial<Record<Column, Sdk>> = {
  authorization: "0.2",
  skills: "0.2",
  image: "0.2", // before, it has to fit into a message
  upload: "0.4",
};

/** Failures of the peer: the number in `README.md`, and a check of what happens instead. */
export type KnownFailures = Partial<
  Record<StepName, { known: number; instead: Step }>
>;

/** What came of a feature: a mark for each step, none where the version of the Agent or the Computer lacks it. */
export type Marks = Record<Column, ("passed" | "failed" | number)[]>;

/** Runs all steps in an office; known failures of the peer must fail as described. */
export async function play(
  t: Deno.TestContext,
  office: Office,
  failures: KnownFailures = {},
): Promise<Marks> {
  const marks = Object.fromEntries(COLUMNS.map((c) => [c, []])) as Partial<
    Marks
  > as Marks;
  for (const column of COLUMNS) {
    const since = SINCE[column] ?? "0.1";
    if (since > office.sdk || since > office.computerSdk) continue;
    for (const [name, step] of Object.entries<Step>(FLOW[column])) {
      const failure = failures[name as StepName];
      const passed = failure === undefined
        ? await t.step(name, () => bounded(step(office)))
        : await t.step(
          `${name}: fails at the peer, as in README.md, no. ${failure.known}`,
          () => bounded(failure.instead(office)),
        );
      marks[column].push(!passed ? "failed" : failure?.known ?? "passed");
      if (name === "join" && !passed) return marks;
    }
  }
  return marks;
}

/** Limits a step: a peer may never answer, which must fail the step and not block the suite. */
async function bounded(step: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const guard = setTimeout(
    () => reject(new Error("Nothing came within a minute")),
    60_000,
  );
  step.catch(() => {}); // may reject after the limit
  await Promise.race([step, promise]).finally(() => clearTimeout(guard));
}
