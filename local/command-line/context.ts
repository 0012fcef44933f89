import type { NamespaceClient } from '../../client/namespace-client.ts';
import type { Io } from './io.ts';
import { writeTo } from './io.ts';
import { untilAborted } from './lines.ts';
import { Progress } from './progress.ts';

/** The options of every command that calls a namespace. */
export interface CommonOptions {
  /** The connection string. */
  readonly to?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** The namespace and the outputs of one run of a command. */
export class Context {
  readonly client: NamespaceClient;
  readonly io: Io;
  readonly isJson: boolean;
  /** Aborts when the user ends the command. */
  readonly signal: AbortSignal;
  readonly #isQuiet: boolean;

  constructor(client: NamespaceClient, io: Io, { json = false, quiet = false }: CommonOptions) {
    this.client = client;
    this.io = io;
    this.isJson = json;
    this.#isQuiet = quiet;
    this.signal = io.interrupted();
  }

  /** What comes from the input, until the user ends the command: then it throws the reason of the signal. */
  input(): AsyncIterable<Uint8Array | string> {
    return untilAborted(this.io.stdin, this.signal);
  }

  /** Prints a result: a text for people, without its last line feed, or with --json the value. */
  async print(text: string, json: unknown): Promise<void> {
    await this.write(this.isJson ? JSON.stringify(json) : text);
  }

  /** Prints a text and a line feed. Throws OutputClosedError. */
  async write(text: string): Promise<void> {
    await writeTo(this.io.stdout, `${text}\n`);
  }

  /** Says something on the side, on the error output. --quiet drops it. */
  async note(sentence: string): Promise<void> {
    if (!this.#isQuiet) await this.warn(sentence);
  }

  /** Says what the user must know, on the error output, also with --quiet. */
  async warn(sentence: string): Promise<void> {
    await writeTo(this.io.stderr, `${sentence}\n`);
  }

  /** Starts the line that shows how far long work is. `things` = what is counted. */
  progress(verb: string, total?: number, things = 'messages'): Progress {
    return new Progress(this.io.stderr, { verb, total, things, isQuiet: this.#isQuiet });
  }
}
