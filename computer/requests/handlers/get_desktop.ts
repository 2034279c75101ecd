import type { GET_DESKTOP_EVENT } from "../../../protocol/mod.ts";
import { organizeDesktop } from "../../resources/desktop/organize_desktop.ts";
import { readWindows } from "../../resources/desktop/read_windows.ts";
import { participants } from "../../resources/servers.ts";
import type { Handler } from "./handler.ts";
import type { ResourceNeeds } from "./resource_needs.ts";

/** Returns the windows of all MCP servers (spec §8.1). */
export const getDesktop: Handler<typeof GET_DESKTOP_EVENT, ResourceNeeds> =
  async (
    { desktop_size, window, req_id },
    { host, watch, recent, warnOnce },
  ) => {
    if (desktop_size !== undefined && desktop_size <= 0) {
      return { desktops: [], req_id };
    }
    const reading = await readWindows(
      participants(host),
      window,
      ({ bundleId }, resources) => watch.saw(bundleId, resources),
    );
    const { desktops, warnings } = organizeDesktop(
      reading.windows,
      desktop_size,
      recent.history.map((bundleId) => host.names.addressOf(bundleId)),
    );
    warnOnce.warn([...reading.warnings, ...warnings]);
    return { desktops, req_id };
  };
