import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText } from './repository.ts';

/** One entry of the lock file; what of it matters here. */
interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
  /** It came inside of another package, whose integrity is its own. */
  readonly inBundle?: boolean;
  readonly dev?: boolean;
  /** A folder of this repository, for which `resolved` is its path. */
  readonly link?: boolean;
}

const PACKAGES = Object.entries(
  (
    JSON.parse(readText('package-lock.json')) as {
      readonly packages: Readonly<Record<string, LockedPackage>>;
    }
  ).packages,
).filter(([path, { link }]) => path.startsWith('node_modules/') && link !== true);

/**
 * Packages without a hash, with the reason: what is installed for a linter on another platform than the one
 * on which the lock file is written. No part of what runs or is deployed.
 */
const WITHOUT_HASH = /^node_modules\/@biomejs\/cli-/;

test('row 23: what is installed is what was locked: each package has its hash', () => {
  assert.ok(PACKAGES.length > 100);
  const unhashed = PACKAGES.filter(
    ([, { integrity, inBundle }]) => !integrity?.startsWith('sha512-') && inBundle !== true,
  );
  assert.deepEqual(
    unhashed.filter(([path, { dev }]) => !(WITHOUT_HASH.test(path) && dev === true)),
    [],
  );
});

test('row 23: the lock file names no host: packages come from wherever the user gets them', () => {
  assert.deepEqual(
    PACKAGES.filter(([, { resolved }]) => resolved !== undefined),
    [],
  );
  assert.doesNotMatch(readText('package-lock.json'), /"[a-z+]+:\/\/[^"]*\.tgz"/);
});
