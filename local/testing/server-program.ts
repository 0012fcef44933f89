import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** How to run the server for tests. */
export interface ServerProgram {
  readonly file: string;
  /** Arguments of Node before the file. */
  readonly nodeArguments: readonly string[];
}

/** Where the program lies: beside this code in the package, above it in its CommonJS form, and in a clone. */
const PLACES = ['./test-server.js', '../test-server.js', './test-server.ts'];

/** Finds the program of the server for tests. */
export function serverProgram(): ServerProgram {
  const files = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new Error(`The server for tests is missing: ${files.join(', ')}.`);
  if (!file.endsWith('.ts')) return { file, nodeArguments: [] };
  const compiler = pathToFileURL(createRequire(import.meta.url).resolve('tsx'));
  return { file, nodeArguments: ['--import', compiler.href] };
}
