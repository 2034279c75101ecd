import type { ClusterSettings } from "../../cli/cluster_flags.ts";
import { UsageError } from "../../cli/run.ts";
import type { SmcpServerOptions } from "../options.ts";
import { log } from "../shared/log.ts";
import { readText } from "./read_text.ts";

/**
 * Connects to the cluster of the command line, if it names one; only then what it needs is loaded.
 *
 * @throws {UsageError} when the address, a file or a name is wrong
 * @throws {Error} when Redis cannot be reached, refuses, or does not fit
 */
export async function loadCluster(
  settings: ClusterSettings | undefined,
): Promise<Pick<SmcpServerOptions, "cluster">> {
  if (settings === undefined) return {};
  const { url, caFile, certFile, keyFile, name, leaseMs } = settings;
  if (settings.isPasswordVisible) {
    log.warn(
      "Whoever lists the processes of this machine sees the password in --cluster: give the address in the variable SMCP_CLUSTER instead",
    );
  }
  const { joinCluster } = await import("../cluster/mod.ts");
  try {
    const cluster = await joinCluster(url, {
      leaseMs,
      ...(name !== undefined && { name }),
      tls: {
        ...(caFile && { ca: readText("--cluster-ca", caFile) }),
        ...(certFile && { cert: readText("--cluster-cert", certFile) }),
        ...(keyFile && { key: readText("--cluster-key", keyFile) }),
      },
    });
    return { cluster };
  } catch (error) {
    // What is wrong with the settings, in contrast to what is wrong with Redis.
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}
