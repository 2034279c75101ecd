import type { InProcessServerConfig } from "../../../computer/mod.ts";
import type { FixtureOptions } from "../fixtures/mcp_fixture.ts";
import { createFixture } from "../fixtures/sdk_fixture.ts";

/**
 * The fixture in the process of the test: for tests of what is beyond the Computer, which would start a
 * process for each of theirs. Its settings serve one Computer.
 */
export const fixtureHere = (
  options?: FixtureOptions,
  more: Partial<InProcessServerConfig> = {},
) => ({
  ...more,
  type: "in-process" as const,
  server: createFixture(options),
});
