import type { PlatformSocket } from "../../../server/wire/fetch_socket.ts";

/** A platform's WebSocket, to which the test is the platform. */
export class FakePlatform implements PlatformSocket {
  /** See {@linkcode PlatformSocket}, also for the other fields of it. */
  binaryType = "blob";
  readyState = 0;
  bufferedAmount = 0;
  onopen: PlatformSocket["onopen"] = null;
  onmessage: PlatformSocket["onmessage"] = null;
  onerror: PlatformSocket["onerror"] = null;
  onclose: PlatformSocket["onclose"] = null;
  /** The messages that were sent. */
  readonly sent: (string | Uint8Array)[] = [];
  /** The codes that it was closed with. */
  readonly closes: (number | undefined)[] = [];

  /** Opens it. */
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  send(data: string | Uint8Array): void {
    this.sent.push(data);
  }

  close(code?: number): void {
    this.readyState = 2;
    this.closes.push(code);
  }

  /** Ends it. */
  end(code: number): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}
