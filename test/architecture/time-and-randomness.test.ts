import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, sourceFiles } from './repository.ts';

/** What a simulation runs: nothing in it may happen at a time, or by a chance, that was not handed in. */
const SIMULATED = /^(shared|lambdas|amqp)\//;

/** What takes time or chance from the process. */
const TAKEN =
  /\b(?:(?:set|clear)(?:Timeout|Interval|Immediate)|Math\.random|performance\.now|Date\.now|process\.(?:hrtime|uptime)|AbortSignal\.timeout|randomBytes|randomUUID|randomInt|randomFill(?:Sync)?|getRandomValues|timers\/promises)\b|\bnew Date\(\)/g;

/** Files that hand in the real ones, with what each may take. */
const GIVERS: Readonly<Record<string, readonly string[]>> = {
  'shared/app/real-scheduler.ts': [
    'performance.now',
    'setTimeout',
    'clearTimeout',
    'setInterval',
    'clearInterval',
    'setImmediate',
  ],
  'shared/app/deployed-settings.ts': ['Date.now'],
  'shared/app/real-random.ts': ['randomFillSync'],
  'shared/app/report-fault.ts': ['Date.now'],
};

test('time and randomness are handed in', () => {
  const offences = sourceFiles()
    .filter((path) => SIMULATED.test(path))
    .flatMap((path) =>
      takenBy(path)
        .filter((name) => !GIVERS[path]?.includes(name))
        .map((name) => `${path} takes ${name}`),
    );
  assert.deepEqual(offences, []);
});

test('a file that may take time or randomness from the process does', () => {
  for (const [path, names] of Object.entries(GIVERS)) {
    assert.deepEqual(takenBy(path), [...names].sort(), path);
  }
});

function takenBy(path: string): readonly string[] {
  const names = [...readText(path).matchAll(TAKEN)].map(([name]) => name);
  return [...new Set(names)].sort();
}
