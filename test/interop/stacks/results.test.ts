import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGood, resultOfBuild, resultOfChecks, said } from './results.ts';

const good = { what: 'client 1.0', ran: 5, failed: 0, skipped: 2 };

function line(counts: object): string {
  return `${JSON.stringify({ ...good, ...counts })}\n`;
}

/** What is said of a program of checks that has ended so, and whether that is good. */
const CHECKS = [
  [0, line({}), '3 of 5 pass, 2 left out (client 1.0)', true],
  [0, `before\n${line({ skipped: 0 })}\n`, '5 of 5 pass (client 1.0)', true],
  [1, line({ failed: 1 }), '2 of 5 pass, 2 left out (client 1.0)', false],
  [77, '', 'not tried on this machine: the package is not installed', true],
  ['not there', '', 'not tried on this machine: there is no python3', true],
  ['hung', line({}), 'hung: no end after 30 minutes', false],
  [1, line({}), /^crashed: ended with code 1 after its tally: {"what"/, false],
  [134, line({ failed: 1 }), /^crashed: ended with code 134 after its tally: /, false],
  ['SIGSEGV', line({}), /^crashed: ended by SIGSEGV after its tally: /, false],
  [0, line({ failed: 1 }), /^crashed: ended with code 0 after its tally: /, false],
  [0, line({ ran: 0, skipped: 0 }), 'crashed: ended with code 0, and no check ran', false],
  [1, '', 'crashed: ended with code 1, and its last line is no tally: ', false],
  ...['{oops', 'null', '{}', line({ ran: '5' }), line({ failed: -1 }), line({ skipped: 6 })].map(
    (output) =>
      [0, output, /^crashed: ended with code 0, and its last line is no tally: /, false] as const,
  ),
] as const;

for (const [end, output, expected, isFine] of CHECKS) {
  test(`a program of checks that ends so: ${end} ${output.trim()}`, () => {
    const result = resultOfChecks({ end, output }, 'python3');
    if (typeof expected === 'string') assert.equal(said(result), expected);
    else assert.match(said(result), expected);
    assert.equal(isGood(result), isFine);
  });
}

/** The same for a build; `dotnet` writes each error twice. */
const BUILDS = [
  ['not there', '', 'not tried on this machine: there is no dotnet', true],
  ...[
    'NU1101: Unable to find package Rebus. No packages exist with this id in source(s): a',
    'NU1102: Unable to find package Rebus with version (>= 9.0.0)',
    'NU1301: Unable to load the service index for source https://nuget.test/index.json.',
    'NETSDK1045: The current .NET SDK does not support targeting .NET 11.0.',
  ].map((reason) => {
    const output = `/a/B.csproj : error ${reason} [/a/B.csproj]\n\nBuild FAILED.\n`;
    return [1, output, `not tried on this machine: ${reason}`, true] as const;
  }),
  [
    1,
    '/a/B.csproj : error NU1301: No route.\r\n',
    'not tried on this machine: NU1301: No route.',
    true,
  ],
  [1, 'A.cs(1,2): error CS1002: ; expected [/a/B.csproj]', 'not built: ended with code 1', false],
  ['SIGKILL', '', 'not built: ended by SIGKILL', false],
  ['hung', '', 'hung: no end after 15 minutes', false],
] as const;

for (const [end, output, expected, isFine] of BUILDS) {
  test(`a build that ends so: ${end} ${output.trim()}`, () => {
    const result = resultOfBuild({ end, output });
    assert.ok(result);
    assert.deepEqual([said(result), isGood(result)], [expected, isFine]);
  });
}

test('after a build that only warns there is a program to run', () => {
  const output = 'B.csproj : warning NU1603: it was not found.\nBuild succeeded.\n';
  assert.equal(resultOfBuild({ end: 0, output }), undefined);
});
