import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENCE_FILE = /^(?:licen[cs]e|copying)(?:[.-].*)?$/i;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/**
 * The licences of the packages that are bundled, as they require. Throws for a package without any.
 * @param root the folder to which the inputs are relative
 * @param inputs the source files of the bundles
 */
export function noticesOf(root: string, inputs: readonly string[]): string {
  const folders = new Set(inputs.flatMap((input) => PACKAGE.exec(input)?.[0] ?? []));
  const notices = new Map([...folders].sort().map((folder) => noticeOf(join(root, folder))));
  const names = [...notices.keys()].join('\n');
  return `dynabus contains these packages:\n\n${names}\n\n${[...notices.values()].join('\n')}`;
}

function noticeOf(folder: string): readonly [string, string] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const { name, version, license } = manifest;
  const file = readdirSync(folder).find((each) => LICENCE_FILE.test(each));
  if (file === undefined && license === undefined) throw new Error(`${folder} has no licence.`);
  const text =
    file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), 'utf8');
  const title = `${name} ${version}${license === undefined ? '' : ` (${license})`}`;
  return [title, `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text.trim()}\n`];
}
