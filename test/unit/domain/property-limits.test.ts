import assert from 'node:assert/strict';
import { test } from 'node:test';
import { propertiesBytes } from '../../../shared/domain/messages/property-limits.ts';
import { type Properties, text } from '../../../shared/domain/messages/property-value.ts';

test('the bytes of many properties are counted once, however often they are needed', () => {
  const plain = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`p${i}`, text('x')]));
  let looks = 0;
  const properties: Properties = new Proxy(plain, {
    ownKeys: (target) => {
      looks++;
      return Reflect.ownKeys(target);
    },
  });
  const bytes = Object.keys(plain).join('').length + 1000;
  for (let i = 0; i < 5; i++) assert.equal(propertiesBytes(properties), bytes);
  assert.equal(looks, 1);
});
