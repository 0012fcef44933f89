import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { test } from 'node:test';
import { ROOT, readText, repositoryFiles, sourceFiles } from './repository.ts';

const LINES_MAX = 300;
const COMMENT_COLUMNS_MAX = 120;

/** A line that is a comment. */
const COMMENT = /^ *(?:\/\/|\/\*\*|\*) /;

/** Files that may be longer, each with the reason. */
const LONGER: Readonly<Record<string, string>> = {};

const TEXT = /\.(ts|json|md|ya?ml)$|(^|\/)(\.npmrc|\.nvmrc|\.gitignore|run)$/;

/** In pieces, so that this file does not offend itself; so are the hosts. */
const UNFINISHED = new RegExp(`\\b(${'TO'}${'DO'}|${'FIX'}${'ME'})\\b`);

const PACKAGE_HOSTS = [
  ['registry', 'npmjs', 'org'],
  ['registry', 'yarnpkg', 'com'],
  ['npm', 'pkg', 'github', 'com'],
  ['jfrog', 'io'],
].map((parts) => parts.join('.'));

test('no source file is longer than one can keep in mind', () => {
  const offences = sourceFiles()
    .filter((path) => !(path in LONGER))
    .map((path) => ({ path, lines: readText(path).split('\n').length - 1 }))
    .filter(({ lines }) => lines > LINES_MAX);
  assert.deepEqual(offences, []);
});

test('a file that may be longer still exists, and is longer', () => {
  for (const path of Object.keys(LONGER)) {
    assert.ok(readText(path).split('\n').length - 1 > LINES_MAX, path);
  }
});

test(`no line of a comment has more than ${COMMENT_COLUMNS_MAX} characters`, () => {
  const offences = sourceFiles().flatMap((path) =>
    readText(path)
      .split('\n')
      .map((line, i) => ({ at: `${path}:${i + 1}`, line }))
      .filter(({ line }) => line.length > COMMENT_COLUMNS_MAX && COMMENT.test(line))
      .map(({ at }) => at),
  );
  assert.deepEqual(offences, []);
});

test('nothing is left for later in a comment', () => {
  assert.deepEqual(textFilesWith(UNFINISHED), []);
});

test('no file knows the machine it was written on', () => {
  const homes = /\/(?:home|Users)\/\w/;
  // Not a top such as `/app`, which is part of many a path of ours.
  const here = [ROOT, `${homedir()}/`].filter((path) => path.split('/').length > 2).map(literally);
  const paths = new RegExp(`(?<![\\w.-])(?:${[homes.source, ...here].join('|')})`);
  assert.deepEqual(textFilesWith(paths), []);
});

test('no file says where packages come from: that is for whoever installs', () => {
  const configured = process.env['npm_config_registry'];
  const hosts = [...PACKAGE_HOSTS, ...(configured ? [new URL(configured).host] : [])].filter(
    (host) => host.includes('.'),
  );
  assert.deepEqual(textFilesWith(new RegExp(hosts.map(literally).join('|'))), []);
});

function textFilesWith(pattern: RegExp): readonly string[] {
  return repositoryFiles().filter((path) => TEXT.test(path) && pattern.test(readText(path)));
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
