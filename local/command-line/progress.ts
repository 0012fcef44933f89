import type { Output } from './io.ts';
import { numberText } from './table.ts';

/** What a progress line says. */
export interface ProgressOptions {
  /** What is done: `Sent`. */
  readonly verb: string;
  /** What it is done with: `messages`. */
  readonly things: string;
  /** How many there are; undefined = not known. */
  readonly total: number | undefined;
  readonly isQuiet: boolean;
}

/** How often a terminal, and another output, gets the count. */
const TERMINAL_MS = 100;
const LINE_MS = 3_000;

/** Shows on the error output how far long work is: one line that changes on a terminal, else a line at times. */
export class Progress {
  readonly #output: Output;
  readonly #options: ProgressOptions;
  readonly #startedAt = performance.now();
  #shownAt: number;
  #isShown = false;

  constructor(output: Output, options: ProgressOptions) {
    this.#output = output;
    this.#options = options;
    this.#shownAt = this.#startedAt;
  }

  /** Shows a count if the last one was shown long enough ago. */
  show(count: number): void {
    const now = performance.now();
    const { isTTY = false } = this.#output;
    if (this.#options.isQuiet || now - this.#shownAt < (isTTY ? TERMINAL_MS : LINE_MS)) return;
    this.#shownAt = now;
    this.#isShown = true;
    const line = this.#lineOf(count, now);
    this.#output.write(isTTY ? `\r${line}\u001b[K` : `${line}\n`, () => {});
  }

  /** Removes the line from a terminal, before something else is printed. */
  end(): void {
    if (this.#isShown && this.#output.isTTY) this.#output.write('\r\u001b[K', () => {});
    this.#isShown = false;
  }

  #lineOf(count: number, now: number): string {
    const { verb, total, things } = this.#options;
    const rate = Math.round(count / Math.max(0.001, (now - this.#startedAt) / 1000));
    const of = total === undefined ? '' : ` of ${numberText(total)}`;
    return `${verb} ${numberText(count)}${of} ${things}, ${numberText(rate)} a second`;
  }
}
