import { MemoryRegistry } from "../../../../server/mod.ts";
import {
  type OpenRegistry,
  testRegistryContract,
} from "../../../support/server/registry_contract.ts";
import { yieldingRegistry } from "../../../support/server/yielding_registry.ts";

const nothingToClose = (
  registry: OpenRegistry["registry"],
): Promise<OpenRegistry> =>
  Promise.resolve({
    registry,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });

testRegistryContract(
  "MemoryRegistry",
  () => nothingToClose(new MemoryRegistry()),
);
testRegistryContract(
  "a registry that answers later",
  () => nothingToClose(yieldingRegistry()),
);
