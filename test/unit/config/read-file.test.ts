import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfigFile } from '../../../local/config/read-file.ts';

test('a file with faults is refused with its name and all of them', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'config-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'Config.json');
  await writeFile(path, '\ufeff{"queues":["a",{"lockDuration":"PT1M"}],"topic":[]}');
  await assert.rejects(readConfigFile(path), {
    name: 'ConfigError',
    message: [
      `The configuration ${path} cannot be used. Change this:`,
      'topic: There is no such property: write topics instead, or remove it.',
      'queues[1]: The name is missing: add it.',
    ].join('\n'),
  });
  await writeFile(path, '{\n  // mine\n}');
  await assert.rejects(readConfigFile(path), {
    message: `The configuration ${path} cannot be used. Change this:\nLine 2, column 3: JSON has no comments: remove this one.`,
  });
});

test('a file that cannot be read is refused with the reason', async () => {
  const missing = join(tmpdir(), 'no-such-directory', 'Config.json');
  await assert.rejects(readConfigFile(missing), {
    name: 'ConfigError',
    message: `The configuration ${missing} cannot be read: there is no such file.`,
  });
  await assert.rejects(readConfigFile(tmpdir()), {
    message: `The configuration ${tmpdir()} cannot be read: it is a directory.`,
  });
});
