import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';
import { ROOT, readText, repositoryFiles } from './repository.ts';

/** The target of `[text](target)`, without a title or the place in the page. */
const LINK = /\]\((?<target>[^)\s#]+)[^)]*\)/g;

test('every relative link in the documentation leads to a file', () => {
  const pages = repositoryFiles().filter((path) => path.endsWith('.md'));
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter((target) => !existsSync(`${ROOT}/${posix.join(posix.dirname(page), target)}`))
      .map((target) => `${page} links to ${target}`),
  );
  assert.deepEqual(broken, []);
});

function linksOf(page: string): readonly string[] {
  return [...readText(page).matchAll(LINK)]
    .map(({ groups }) => decodeURI(groups?.['target'] ?? ''))
    .filter((target) => !/^[a-z]+:/i.test(target));
}
