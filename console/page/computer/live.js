// @ts-check
import { Live } from "../kit/live.js";

/**
 * @typedef {object} Server
 * @property {string} bundleId
 * @property {string} label
 * @property {string} type
 * @property {"starting" | "running" | "restarting" | "failed" | "stopped" | "disabled"} state
 * @property {string} does the state as a sentence
 * @property {number} tools
 * @property {number} restarts
 * @property {readonly string[]} problems
 * @property {string} [authorizeAt] an address of http: or https:
 *
 * @typedef {{ name: string, bundleId: string, description: string }} Tool
 *
 * @typedef {object} Computer
 * @property {string} name
 * @property {string} url
 * @property {string} connection
 * @property {string} protocol
 * @property {string} [office]
 * @property {readonly Server[]} servers
 * @property {readonly Tool[]} tools
 * @property {readonly string[]} skills
 * @property {readonly string[]} problems
 * @property {readonly Permission[]} permissions
 *
 * @typedef {object} Permission what was allowed beyond the rules
 * @property {string} id
 * @property {string} covers in one sentence
 * @property {number} [usesLeft] absent: any number
 * @property {number} [untilMs] milliseconds since 1970; absent: as long as the sentence has it
 *
 * @typedef {object} Call
 * @property {number} key
 * @property {string} agent
 * @property {string} tool
 * @property {string} reqId
 * @property {number} beganAt
 * @property {{ progress: number, total?: number, message?: string }} [progress]
 * @property {string} [waiting] the person that it waits for
 * @property {number} [endedAt]
 * @property {number} [ms]
 * @property {string} [outcome]
 * @property {number} [code]
 *
 * @typedef {{ answer: string, label: string, needsAll: boolean }} Choice
 *
 * @typedef {object} Field
 * @property {"text" | "number" | "boolean" | "choice" | "choices"} kind
 * @property {string} name
 * @property {string} label
 * @property {string} [description]
 * @property {boolean} isRequired
 * @property {boolean} [isSecret]
 * @property {boolean} [isInteger]
 * @property {string} [format]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {readonly { value: string, label: string }[]} [options]
 * @property {string | number | boolean | readonly string[]} [default]
 *
 * @typedef {object} Asking
 * @property {"confirm" | "input" | "elicit"} kind
 * @property {readonly Choice[]} [choices]
 * @property {"promptString" | "pickString"} [type]
 * @property {boolean} [isSecret]
 * @property {readonly string[]} [options]
 * @property {string | number} [fallback]
 * @property {readonly Field[]} [fields]
 * @property {string} [url] the address of a page to open
 *
 * A line of a question; odd characters of its texts are named.
 * @typedef {object} Fact
 * @property {string} name words of the Computer, or the name of an argument
 * @property {number} depth 0 with words of the Computer
 * @property {string} text of a long one the beginning
 * @property {string} [tail] the end of a long one
 * @property {number} [length] the characters of a long one
 *
 * @typedef {object} Question
 * @property {string} id
 * @property {number} askedAt
 * @property {string} title
 * @property {string} subject
 * @property {readonly Fact[]} facts
 * @property {string} [excess] why it cannot be answered with yes
 * @property {Asking} asking
 * @property {"page" | "terminal" | "withdrawn"} [endedBy]
 * @property {string} [said]
 *
 * @typedef {object} News
 * @property {Computer} [computer]
 * @property {readonly Call[]} calls
 * @property {number} firstCall
 * @property {readonly Question[]} questions
 */

/** The state from a Computer's stream. */
export class ComputerLive extends Live {
  /** @type {Computer | undefined} */
  computer;
  /** @type {Map<number, Call>} */
  #calls = new Map();
  /** @type {Map<string, Question>} */
  #questions = new Map();

  /** Oldest first. */
  get calls() {
    return [...this.#calls.values()];
  }

  /** Oldest first; of those that have ended, those since the page was opened. */
  get questions() {
    return [...this.#questions.values()];
  }

  /**
   * @override
   * @param {{ data: News }} event
   * @param {boolean} isFirst of a stream: all there is
   */
  take({ data: news }, isFirst) {
    if (isFirst) {
      this.#calls.clear();
      const open = new Set(news.questions.map(({ id }) => id));
      for (const id of this.#questions.keys()) {
        if (!open.has(id)) this.#questions.delete(id);
      }
    }
    this.computer = news.computer ?? this.computer;
    for (const call of news.calls) this.#calls.set(call.key, call);
    for (const key of this.#calls.keys()) {
      if (key >= news.firstCall) break;
      this.#calls.delete(key);
    }
    for (const question of news.questions) {
      const { id, endedBy } = question;
      if (this.#questions.has(id) || !endedBy) {
        this.#questions.set(id, question);
      }
    }
  }
}
