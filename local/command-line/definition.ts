import type { ExitCode, Io } from './io.ts';

/** What runs a command, with the arguments and options as the user has written them. */
export type RunCommand<Options = never> = (
  io: Io,
  args: readonly string[],
  options: Options,
) => Promise<ExitCode>;

/** A command of `dynabus`: all that its help says, and where its code is. */
export interface Definition {
  readonly name: string;
  /** What it does, in one sentence without its capital letter and its full stop. */
  readonly summary: string;
  /** `<path>` = required, `[body]` = optional; with what it is. */
  readonly arguments: readonly (readonly [syntax: string, meaning: string])[];
  readonly options: readonly OptionDefinition[];
  /** Its exit codes, if they are not those of the other commands: `0 done; 1 refused`. */
  readonly exitCodes?: string;
  /** Command lines that work when pasted. */
  readonly examples: readonly string[];
  /** Whether it calls a namespace, and so has the options for that. */
  readonly callsNamespace: boolean;
  /** Loads its code. */
  readonly load: () => Promise<RunCommand>;
}

/** An option: flags as in `--count <n>`, and its meaning. A repeatable one gives a list. */
export type OptionDefinition = readonly [flags: string, meaning: string, kind?: 'repeatable'];

/** The options of all commands that call a namespace. */
export const NAMESPACE_OPTIONS: readonly OptionDefinition[] = [
  ['--to <connection string>', 'the namespace; default: the variable DYNABUS_CONNECTION_STRING'],
  ['--json', 'print JSON, for programs'],
  ['--quiet', 'print no notes and no progress'],
];
