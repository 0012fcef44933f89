import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';
import { ROOT, readText, repositoryFiles } from './repository.ts';

/** The target of `[text](target#heading)`, without a title. */
const LINK = /\]\((?<file>[^)\s#]*)(?:#(?<heading>[^)\s]+))?[^)]*\)/g;

const PAGES = repositoryFiles().filter((path) => path.endsWith('.md'));

interface Link {
  /** The file it leads to, as a path from the top. */
  readonly file: string;
  readonly heading: string | undefined;
}

test('every relative link in the documentation leads to a file', () => {
  const broken = PAGES.flatMap((page) =>
    linksOf(page)
      .filter(({ file }) => !existsSync(`${ROOT}/${file}`))
      .map(({ file }) => `${page} links to ${file}`),
  );
  assert.deepEqual(broken, []);
});

test('every link to a heading leads to one that its page has', () => {
  const broken = PAGES.flatMap((page) =>
    linksOf(page)
      .filter(({ file, heading }) => heading !== undefined && PAGES.includes(file))
      .filter(({ file, heading = '' }) => !headingsOf(file).includes(heading))
      .map(({ file, heading }) => `${page} links to ${file}#${heading}`),
  );
  assert.deepEqual(broken, []);
});

test('a table of the interface, the architecture and the decisions names its columns', () => {
  const nameless = PAGES.filter((page) => /^docs\/(?:architecture|http|decisions)/.test(page))
    .flatMap((page) => headersOf(page).map((header) => ({ page, header })))
    .filter(({ header }) =>
      header
        .split('|')
        .slice(1, -1)
        .some((name) => name.trim() === ''),
    )
    .map(({ page, header }) => `${page}: ${header}`);
  assert.deepEqual(nameless, []);
});

function linksOf(page: string): readonly Link[] {
  return [...readText(page).matchAll(LINK)]
    .map(({ groups = {} }) => ({
      target: decodeURI(groups['file'] ?? ''),
      heading: groups['heading'],
    }))
    .filter(
      ({ target, heading }) =>
        (target !== '' || heading !== undefined) && !/^[a-z]+:/i.test(target),
    )
    .map(({ target, heading }) => ({
      file: target === '' ? page : posix.join(posix.dirname(page), target),
      heading,
    }));
}

/** What links to the headings of a page end in: lower case, hyphens for spaces, no other signs. */
function headingsOf(page: string): readonly string[] {
  return [...readText(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The first rows of a page's tables. */
function headersOf(page: string): readonly string[] {
  const lines = readText(page).split('\n');
  return lines.filter((_, i) => /^\|[\s:|-]+\|$/.test(lines[i + 1] ?? ''));
}
