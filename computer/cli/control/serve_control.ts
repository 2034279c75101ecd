import process from "node:process";
import type { SmcpComputer } from "../../computer.ts";
import { ControlSocket } from "../../control/control.ts";
import { controlFolder } from "../../control/entries.ts";
import { reasonOf } from "../../util/values.ts";
import type { ComputerFlags } from "../make_computer.ts";
import { ControlledComputer } from "./controlled.ts";
import { keyFileOf, PersonsDevices } from "./persons_devices.ts";

/** The flags by which devices and commands reach a Computer. */
type PlaceFlags =
  & Pick<
    ComputerFlags,
    "approvalsDir" | "name" | "notifyUrl" | "pushHost"
  >
  & {
    readonly url: string;
    readonly connection?: ComputerFlags["connection"];
    readonly office?: string | undefined;
    readonly publicUrl?: string | undefined;
  };

/**
 * Returns the devices that answer for a Computer; those that were paired before are loaded. Where Deno does
 * not permit to look for them it runs without.
 *
 * @param note gets why, as a line
 * @throws {Error} when the file of keys cannot be used, with what to do
 */
export async function devicesOf(
  flags: PlaceFlags,
  note: (text: string) => void,
): Promise<PersonsDevices> {
  const { approvalsDir, connection, office = "", name } = flags;
  const { notifyUrl, pushHost: pushHosts } = flags;
  const file = keyFileOf({
    folder: approvalsDir,
    url: connection ? "up" : flags.url, // that of `up` may have any port
    office,
    name,
  });
  const waking = { notifyUrl, pushHosts };
  const devices = new PersonsDevices(file, () => name, waking);
  await devices.wake();
  if (devices.problem !== undefined) {
    note(`no device can answer: ${devices.problem}`);
  }
  if (devices.isKept) await devices.load();
  return devices;
}

/**
 * Lets commands of this user reach a Computer; where that is impossible it runs without.
 *
 * @param note gets why, as a line
 */
export async function openControl(
  computer: SmcpComputer,
  devices: PersonsDevices,
  { office, publicUrl, connection, url }: PlaceFlags,
  note: (text: string) => void,
): Promise<
  { target: ControlledComputer; close(): Promise<void> }
> {
  devices.serve(computer);
  const target = new ControlledComputer({
    computer,
    devices,
    office,
    publicUrl: publicUrl ?? (connection && url),
  });
  try {
    const socket = await ControlSocket.open(target, controlFolder(process.env));
    return { target, close: () => socket.close() };
  } catch (error) {
    note(
      `commands such as pair and rules cannot reach this Computer: ${
        reasonOf(error)
      }`,
    );
    return { target, close: () => Promise.resolve() };
  }
}
