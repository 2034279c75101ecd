import { MemoryRegistry, type OfficeRegistry } from "../../../server/mod.ts";

/**
 * An asynchronous registry, like one on the network: every operation is one atomic step,
 * with turns of the event loop before and after it.
 */
export function yieldingRegistry(): OfficeRegistry {
  const memory = new MemoryRegistry();
  const later = async <T>(act: () => T): Promise<T> => {
    await turn();
    const result = act();
    await turn();
    return result;
  };
  return {
    claim: (...claim) => later(() => memory.claim(...claim)),
    release: (member) => later(() => memory.release(member)),
    list: (office) => later(() => memory.list(office)),
  };
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
