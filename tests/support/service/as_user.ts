/**
 * Makes a command believe that it runs for another user or on another system; loaded by `--preload`,
 * since the tests themselves may run as root, and for macOS nowhere else.
 *
 * @module
 */
import process from "node:process";

const { TEST_UID = "1000", TEST_PLATFORM } = process.env;
process.getuid = () => Number(TEST_UID);
if (TEST_PLATFORM !== undefined) {
  Object.defineProperty(process, "platform", { value: TEST_PLATFORM });
}
