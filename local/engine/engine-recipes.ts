import { randomBytes } from 'node:crypto';
import { accessSync, constants, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { requireUsableData } from './engine-data.ts';
import {
  chooseAccessKey,
  DYNAMODB_LOCAL_FILE,
  DYNOXIDE_FILE,
  dynamoDbLocalFile,
  LEGACY_FILE,
} from './engine-files.ts';
import {
  DYNAMODB_LOCAL_PACKAGE,
  DYNOXIDE_PACKAGE,
  findEnginePackage,
  HAS_DYNOXIDE,
} from './engine-packages.ts';
import { findJava, JAVA_MAJOR_MIN } from './java.ts';
import { LOOPBACK_CLASS, loopbackClass } from './loopback-class.ts';
import type { SupervisedFiles } from './supervised-process.ts';

/** The engines that `npm start` can start, in order of preference. */
export const ENGINE_KINDS = ['dynamodb-local', 'dynoxide'] as const;
/** The name of an engine. */
export type EngineKind = (typeof ENGINE_KINDS)[number];

/** How to start an engine. */
export interface Recipe {
  /** For messages to the user, for example `DynamoDB Local (Java 17)`. */
  readonly name: string;
  readonly command: string;
  /** Whether the engine answers a transaction before it is in the file; see `Engine.commitsLate`. */
  readonly commitsLate: boolean;
  /** The address it listens on. */
  readonly host: string;
  /** Whether the name of the data file is the access key, so that other users must not see it. */
  readonly hasSecretFileName: boolean;
  /** Prepares one start on a port. Without a directory the data is in memory. Throws StartupError. */
  readonly prepare: (dataDirectory: string | undefined, port: number) => Preparation;
}

/** The arguments and files of one start of an engine. */
export interface Preparation {
  /** Selects the tables that the engine shows. */
  readonly accessKey: string;
  readonly arguments: readonly string[];
  readonly files: SupervisedFiles;
  /**
   * Deletes temporary files. Call it when the engine answers or has ended. If this process ends earlier, the
   * supervisor deletes them.
   */
  clean(): void;
}

/**
 * Whether a file name is that of an engine's data file. The directory then belongs to that engine: neither
 * engine reads the other's data.
 */
export const isDataFile: Record<EngineKind, (name: string) => boolean> = {
  'dynamodb-local': (name) => name === LEGACY_FILE || DYNAMODB_LOCAL_FILE.test(name),
  dynoxide: (name) => name === DYNOXIDE_FILE,
};

/** Why an engine cannot start. */
export interface Missing {
  /** A clause that says what is missing. */
  readonly missing: string;
  /** Whether only its package is missing, so that it can start once `installEngines` has run. */
  readonly canInstall: boolean;
}

/** Finds how to start each engine on this machine, or what is missing. */
export const findRecipe: Record<EngineKind, () => Recipe | Missing> = {
  'dynamodb-local': findDynamoDbLocal,
  dynoxide: findDynoxide,
};

/**
 * Measured: here the serial collector is as fast as the others and uses the least memory. Both JIT compilers
 * stay enabled. With C1 alone the engine is warm after 4 s instead of 12, but each request then takes half as
 * much processor time again for good (0.55 ms against 0.35 ms).
 */
const JVM_FLAGS = ['-Xmx1g', '-XX:+UseSerialGC'];

function findDynamoDbLocal(): Recipe | Missing {
  const java = findJava();
  if ('missing' in java) {
    const missing = `DynamoDB Local needs Java ${JAVA_MAJOR_MIN} or newer, and ${java.missing}`;
    return { missing, canInstall: false };
  }
  const folder = findEnginePackage(DYNAMODB_LOCAL_PACKAGE);
  if (folder === undefined) return notInstalled(DYNAMODB_LOCAL_PACKAGE, true);
  const library = dynamoDbLocalDirectory(folder);
  return {
    name: `DynamoDB Local (Java ${java.major})`,
    command: java.command,
    commitsLate: true,
    host: '127.0.0.1',
    hasSecretFileName: true,
    prepare: (directory, port) => {
      const accessKey = chooseAccessKey(directory);
      const file = dynamoDbLocalFile(accessKey);
      if (directory !== undefined) requireUsable(directory, [LEGACY_FILE, file]);
      const classes = join(tmpdir(), `dynabus-${randomBytes(16).toString('hex')}`);
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
              : { directory, file, rivals: DYNAMODB_LOCAL_FILE.source, legacyFile: LEGACY_FILE },
          temporary: {
            directory: classes,
            contents: { [`${LOOPBACK_CLASS}.class`]: loopbackClass().toString('base64') },
          },
        },
        clean: () => rmSync(classes, { recursive: true, force: true }),
      };
    },
  };
}

/**
 * The directory of the package's jar. The package's own starter is not used: it does not let the caller choose
 * JVM flags or control the process.
 */
function dynamoDbLocalDirectory(folder: string): string {
  const libraries = join(folder, 'lib');
  const release = readdirSync(libraries).find((name) => name.startsWith('dynamodb_local_'));
  if (release === undefined) throw new Error(`There is no DynamoDB Local in ${libraries}.`);
  return join(libraries, release);
}

function findDynoxide(): Recipe | Missing {
  const folder = findEnginePackage(DYNOXIDE_PACKAGE);
  if (folder === undefined) return notInstalled(DYNOXIDE_PACKAGE, HAS_DYNOXIDE);
  const command = join(folder, 'dynoxide');
  if (!isExecutable(command)) return notInstalled(DYNOXIDE_PACKAGE, false);
  const host = randomLoopbackAddress();
  return {
    name: 'dynoxide',
    command,
    commitsLate: false,
    host,
    hasSecretFileName: false,
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
}

function notInstalled(name: string, canInstall: boolean): Missing {
  return { missing: `the package ${name} is not installed`, canInstall };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function requireUsable(directory: string, files: readonly string[]): void {
  for (const file of files) requireUsableData(join(directory, file));
}

/**
 * A random address for dynoxide, which answers web pages of all origins and accepts any access key. On Linux
 * every address of 127/8 is this machine, so dynoxide listens on one of 16 million and no page can find it.
 */
function randomLoopbackAddress(): string {
  if (process.platform !== 'linux') return '127.0.0.1';
  const [a = 0, b = 0, c = 0] = randomBytes(3);
  // Neither the first nor the last address of its /24 block.
  return `127.${a}.${b}.${1 + (c % 254)}`;
}
