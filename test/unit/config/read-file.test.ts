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

test('a file in another encoding than UTF-8 is refused with the encoding', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'config-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'Config.json');
  const text = '{"queues":["a"]}';
  const littleEndian = Buffer.from(text, 'utf16le');
  const bigEndian = Buffer.from(littleEndian).swap16();
  const encoded: readonly (readonly [Uint8Array, string])[] = [
    [Buffer.from(`\ufeff${text}`, 'utf16le'), 'is in UTF-16'],
    [Buffer.from(`\ufeff${text}`, 'utf16le').swap16(), 'is in UTF-16'],
    [littleEndian, 'is in UTF-16'],
    [bigEndian, 'is in UTF-16'],
    [Buffer.from('{"queues":["\u00e4"]}', 'latin1'), 'is not in UTF-8'],
  ];
  for (const [bytes, found] of encoded) {
    await writeFile(path, bytes);
    await assert.rejects(readConfigFile(path), {
      name: 'ConfigError',
      message: `The configuration ${path} ${found}: save it in UTF-8.`,
    });
  }
});
