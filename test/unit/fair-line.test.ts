import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairLine } from '../../shared/domain/fair-line.ts';

const AHEAD_MAX = 40;

/** Serves the line so often; returns who had each turn. Each has used its ms then, and waits again. */
function serve(line: FairLine<string>, times: number, peers: ReadonlyMap<object, number>) {
  const served: string[] = [];
  for (let i = 0; i < times; i++) {
    const next = line.next();
    if (next === undefined) break;
    served.push(next.waiting);
    line.use(next.peer, peers.get(next.peer) ?? 0);
    line.add(next.peer, next.waiting);
  }
  return served;
}

const countOf = (served: readonly string[], name: string) =>
  served.filter((one) => one === name).length;

test('each has the same time, in however large pieces', () => {
  const line = new FairLine<string>(AHEAD_MAX);
  const [small, large] = [{}, {}];
  line.add(small, 'small');
  line.add(large, 'large');
  const peers = new Map([
    [small, 2],
    [large, 20],
  ]);
  const served = serve(line, 550, peers);
  assert.ok(Math.abs(countOf(served, 'large') - 50) <= 2, `${countOf(served, 'large')}`);
});

test('who comes back after it used nothing is first, and is not for what it left unused', () => {
  const line = new FairLine<string>(AHEAD_MAX);
  const busy = Array.from({ length: 10 }, () => ({}));
  const peers = new Map<object, number>(busy.map((peer) => [peer, 10]));
  for (const peer of busy) line.add(peer, 'busy');
  serve(line, 1000, peers);
  const back = {};
  peers.set(back, 10);
  line.add(back, 'back');
  const served = serve(line, 110, peers);
  assert.ok(served.indexOf('back') <= 10, `${served.indexOf('back')}`);
  assert.ok(Math.abs(countOf(served, 'back') - 10) <= 1, `${countOf(served, 'back')}`);
});

test('what was used counts up to a bound', () => {
  const line = new FairLine<string>(AHEAD_MAX);
  const [long, other] = [{}, {}];
  line.use(long, 1e9);
  line.add(long, 'long');
  line.add(other, 'other');
  const served = serve(line, 60, new Map([[other, 1]]));
  assert.equal(served.indexOf('long'), AHEAD_MAX);
});

test('many who wait for many things have them by turns, and all of them in the end', () => {
  const line = new FairLine<number>(AHEAD_MAX);
  assert.equal(line.next(), undefined);
  const peers = Array.from({ length: 20 }, () => ({}));
  for (const peer of peers) for (let i = 0; i < 30; i++) line.add(peer, i);
  for (let i = 0; i < 30; i++) {
    const round = peers.map(() => line.next());
    assert.equal(new Set(round.map((next) => next?.peer)).size, peers.length);
    assert.ok(round.every((next) => next?.waiting === i));
  }
  assert.ok(line.isEmpty);
  assert.equal(line.next(), undefined);
});
