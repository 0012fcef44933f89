import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import type { DocumentTable } from '../../../shared/storage/dynamodb/document-table.ts';
import { FilterCounter } from '../../../shared/storage/entities/count-filters.ts';

/** How many filters a report counts of each of two topics with so many rules, and how many rules it read. */
async function report({ rules, bytes }: { readonly rules: number; readonly bytes: number }) {
  let read = 0;
  async function* allStale() {
    const rule = new Uint8Array(bytes);
    for (let i = 0; i < rules; i++, read++) yield { sk: `s/${i}`, kind: 'sql', rule };
  }
  const counter = new FilterCounter({ allStale } as unknown as DocumentTable, 'namespace');
  const of = (id: string) => counter.of({ id } as Entity, [{ id: 's' } as Entity]);
  return [(await of('t'))?.sql, (await of('u'))?.sql, read];
}

test('G29 a report reads 20,000 small rules, and topics behind them are without counts', async () => {
  assert.deepEqual(await report({ rules: 20_000, bytes: 90 }), [20_000, undefined, 20_000]);
  assert.deepEqual(await report({ rules: 10_001, bytes: 90 }), [10_001, undefined, 20_000]);
});

test('G29 a report reads 8 MB of large rules', async () => {
  assert.deepEqual(await report({ rules: 250, bytes: 32_000 }), [250, undefined, 250]);
  assert.deepEqual(await report({ rules: 251, bytes: 32_000 }), [undefined, undefined, 250]);
});
