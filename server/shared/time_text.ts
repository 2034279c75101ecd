/** Writes times in ISO 8601. Keeps the last minute, since many events belong to the same. */
export class TimeText {
  #minute = NaN;
  #text = "";

  /** @param time in milliseconds since 1970 */
  of(time: number): string {
    const minute = Math.floor(time / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#text = new Date(minute * 60_000).toISOString().slice(0, -7);
    }
    const rest = time - minute * 60_000;
    const seconds = Math.floor(rest / 1000);
    return `${this.#text}${two(seconds)}.${
      String(rest - seconds * 1000).padStart(3, "0")
    }Z`;
  }
}

const two = (n: number): string => n < 10 ? `0${n}` : String(n);
