import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** The Java version that DynamoDB Local is compiled for. */
export const JAVA_MAJOR_MIN = 17;

/** A Java that can run DynamoDB Local, or a clause that says why there is none. */
export type JavaSearch =
  | { readonly command: string; readonly major: number }
  | { readonly missing: string };

/** Finds the Java in JAVA_HOME, or else on the PATH, and checks its version. */
export function findJava(env: NodeJS.ProcessEnv = process.env): JavaSearch {
  const { JAVA_HOME: home } = env;
  const command = home ? join(home, 'bin', 'java') : 'java';
  const { error, stderr, status } = spawnSync(command, ['-version'], { encoding: 'utf8', env });
  const place = home ? `in JAVA_HOME (${home})` : 'on the PATH';
  if (error !== undefined || status !== 0) return { missing: `there is no working Java ${place}` };
  const major = javaMajor(stderr);
  if (major === undefined) return { missing: `the Java ${place} does not report its version` };
  if (major < JAVA_MAJOR_MIN) return { missing: `the Java ${place} is version ${major}` };
  return { command, major };
}

/** The major version in the output of `java -version`; Java 8 and older report 1.x. */
function javaMajor(text: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(text);
  return match === null ? undefined : Number(match[1]);
}
