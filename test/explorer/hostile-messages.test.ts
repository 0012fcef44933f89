import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { type Sent, startExplorer } from './fixture.ts';

/** What messages contain is shown as text, whatever it is. */

const MARKUP =
  '<script>document.title="taken"</script><img src=x onerror="document.title=\'taken\'">';
const RIGHT_TO_LEFT = 'safe\u202eexe.fdp';

const HOSTILE: readonly (readonly [what: string, message: Sent, shown: string | RegExp])[] = [
  ['markup', { Body: MARKUP }, MARKUP],
  ['text that turns its direction', { Body: RIGHT_TO_LEFT }, 'safe⟨U+202E⟩exe.fdp'],
  ['a NUL', { Body: 'a\0b' }, 'a␀b'],
  [
    'bytes that are no UTF-8',
    { Body: Buffer.from([0xff, 0xfe, 0x00, 0x41]).toString('base64'), BodyEncoding: 'base64' },
    /00000000 {2}ff fe 00 41 +···A/,
  ],
  ['a megabyte in one line', { Body: 'x'.repeat(1_000_000) }, /^x{65536}$/],
];

test('row 28: hostile messages are shown as text', { skip: NO_BROWSER }, async (t) => {
  const { create, send, open } = await startExplorer(t, { tier: 'Premium' });
  await create('q', { kind: 'queue', maxMessageSizeInKilobytes: 1024 });
  for (const [, message] of HOSTILE) {
    await send('q', [
      {
        ...message,
        BrokerProperties: { Label: MARKUP, MessageId: MARKUP.slice(0, 100) },
        UserProperties: { [MARKUP]: MARKUP },
      },
    ]);
  }
  const page = await open('#/entity/q');
  for (const [number, [what, , shown]] of HOSTILE.entries()) {
    await page.getByRole('button', { name: String(number + 1), exact: true }).click();
    const details = page.getByRole('complementary', { name: `Message ${number + 1}` });
    const text = (await details.locator('pre.body').textContent()) ?? '';
    if (typeof shown === 'string') assert.equal(text, shown, what);
    else assert.match(text, shown, what);
    assert.equal(await details.locator('dd bdi').first().textContent(), MARKUP);
  }
  assert.equal(await page.title(), 'dynabus explorer');
  assert.equal(await page.locator('img, #app script').count(), 0);
});
