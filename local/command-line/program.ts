import { Command, CommanderError, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { type Definition, NAMESPACE_OPTIONS, type OptionDefinition } from './definition.ts';
import { ENTITY_COMMANDS } from './entity-definitions.ts';
import { EXIT, type ExitCode, type Io, writeTo } from './io.ts';
import { MESSAGE_COMMANDS } from './message-definitions.ts';
import { EXPLORER, PROXY, START } from './server-definitions.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly Definition[] = [
  START,
  ...MESSAGE_COMMANDS,
  ...ENTITY_COMMANDS,
  PROXY,
  EXPLORER,
];

const EXAMPLES = [
  'dynabus start',
  "export DYNABUS_CONNECTION_STRING='Endpoint=sb://localhost:5300;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;'",
  'dynabus list',
  "dynabus send orders 'Hello, bus'",
  'dynabus receive orders',
];
const EXIT_CODES =
  '0 done; 1 refused, not reachable or partly done; 2 wrong input; 130 interrupted';

/** What a run of the program gathers. */
interface Run {
  readonly io: Io;
  /** Help and version, which commander writes without waiting. */
  readonly texts: string[];
  exitCode: ExitCode;
  /** The command whose arguments are read. */
  command: string;
}

/**
 * Runs the command line. Every error becomes a sentence on the error output.
 * @param argv the arguments after the name of the program
 */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  const state: Run = { io, texts: [], exitCode: EXIT.done, command: 'dynabus' };
  try {
    await execute(argv, state);
    return state.exitCode;
  } catch (error) {
    // Loaded here, so that the help needs no more than this file.
    const { explain } = await import('./explain.ts');
    const { exitCode, text } = explain(error);
    if (text !== undefined) await writeTo(io.stderr, `${text}\n`).catch(() => {});
    return exitCode;
  }
}

async function execute(argv: readonly string[], state: Run): Promise<void> {
  const program = createProgram(state);
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== EXIT.done) {
      state.exitCode = EXIT.wrongInput;
      state.texts.length = 0;
      await writeTo(
        state.io.stderr,
        `${await sentenceOf(error, argv)} See ${state.command} --help.\n`,
      );
    }
  }
  if (state.texts.length > 0) await writeTo(state.io.stdout, state.texts.join(''));
}

function createProgram(state: Run): Command {
  const program = new Command('dynabus')
    .description('Queues and topics with the semantics of Azure Service Bus.')
    .version(manifest.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this text')
    .helpCommand('help [command]', 'print the help of a command')
    .configureOutput({
      writeOut: (text) => state.texts.push(text),
      writeErr: (text) => state.texts.push(text),
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText('after', helpEnd(EXAMPLES));
  for (const definition of COMMANDS) addCommand(program, definition, state);
  return program;
}

function addCommand(program: Command, definition: Definition, state: Run): void {
  const { name, summary, examples, callsNamespace } = definition;
  const command = program
    .command(name)
    .summary(summary)
    .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
    .addHelpText('after', helpEnd(examples, definition.exitCodes))
    .exitOverride((error) => {
      state.command = `dynabus ${name}`;
      throw error;
    });
  for (const [syntax, meaning] of definition.arguments) command.argument(syntax, meaning);
  const options = [...definition.options, ...(callsNamespace ? NAMESPACE_OPTIONS : [])];
  for (const option of options) command.addOption(optionOf(option));
  command.action(async () => {
    const runCommand = await definition.load();
    state.exitCode = await runCommand(state.io, command.args, command.opts() as never);
  });
}

function optionOf([flags, meaning, kind]: OptionDefinition): Option {
  const option = new Option(flags, kind === undefined ? meaning : `${meaning}; repeatable`);
  if (kind === undefined) return option;
  return option.argParser((value: string, before: readonly string[] = []) => [...before, value]);
}

function helpEnd(examples: readonly string[], exitCodes = EXIT_CODES): string {
  const lines = examples.map((line) => `  ${line}\n`).join('');
  return `\nExamples:\n${lines}\nExit codes: ${exitCodes}.\n`;
}

/** `error: unknown option '--prot'\n(Did you mean --port?)` as sentences. */
async function sentenceOf(
  { code, message }: CommanderError,
  argv: readonly string[],
): Promise<string> {
  // `dynabus help nothing`, for which commander prints the help of the program.
  if (code === 'commander.help') return await unknownCommand(argv[1] ?? '');
  const [first = '', suggestion = ''] = message.replace(/^error: /, '').split('\n');
  const sentence = first.charAt(0).toUpperCase() + first.slice(1);
  const end = /[.?!]$/.test(sentence) ? '' : '.';
  const more = suggestion.replace(/^\((.*)\)$/, '$1');
  return `${sentence}${end}${more === '' ? '' : ` ${more}`}`;
}

/** As commander says it for a command that it does not know. */
async function unknownCommand(name: string): Promise<string> {
  const { nearestOf } = await import('../../shared/domain/fault-words.ts');
  const nearest = nearestOf(
    name,
    COMMANDS.map((command) => command.name),
  );
  return `Unknown command '${name}'.${nearest === undefined ? '' : ` Did you mean ${nearest}?`}`;
}
