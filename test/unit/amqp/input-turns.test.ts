import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InputTurns } from '../../../amqp/endpoint/input-turns.ts';
import { Intake } from '../../../amqp/endpoint/intake.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';

const FRAME_MS = 1;
const { unauthorized, authorized } = BUDGETS.connection;

/** An event loop whose turns the test ends; a frame takes a millisecond. */
class Loop {
  ms = 0;
  readonly turns = new InputTurns({ now: () => this.ms, soon: (work) => this.#soon.push(work) });
  #soon: (() => void)[] = [];

  endTurn(): void {
    for (const work of this.#soon.splice(0)) work();
  }

  /** A connection with that many frames to read, and how many are left. */
  connection(frames: number, { isAuthorized = false, turnFrames = Number.POSITIVE_INFINITY } = {}) {
    const own = { left: frames, advance: () => {} };
    const intake = new Intake({ pause: () => {}, resume: () => {} }, () => own.advance());
    own.advance = () => {
      const limits = { isAuthorized, isTurnOver: false };
      for (let read = 0; own.left > 0 && this.turns.mayContinue(limits, intake); ) {
        own.left--;
        this.ms += FRAME_MS;
        limits.isTurnOver = ++read >= turnFrames;
      }
    };
    return own;
  }
}

const KINDS = [
  { who: 'unauthorized connections', isAuthorized: false, turnMs: unauthorized.turnMs },
  { who: 'authorized connections', isAuthorized: true, turnMs: authorized.turnMs },
] as const;

for (const { who, isAuthorized, turnMs } of KINDS) {
  test(`input of ${who} is handled for a moment of each turn, whatever their number`, () => {
    const loop = new Loop();
    const frames = 10;
    const all = Array.from({ length: 1000 }, () => {
      return loop.connection(frames, { isAuthorized, turnFrames: 5 });
    });
    for (const one of all) one.advance();
    assert.equal(loop.ms, turnMs);
    const other = loop.connection(1, { isAuthorized: !isAuthorized });
    other.advance();
    assert.equal(other.left, 0, 'other connections do not wait for these');
    let before = loop.ms;
    loop.endTurn();
    assert.equal(loop.ms - before, turnMs);
    for (const one of all) one.advance();
    assert.equal(loop.ms - before, turnMs, 'nor is more time used for later input');
    const turns = (all.length * frames * FRAME_MS) / turnMs;
    for (let turn = 2; turn < turns; turn++) {
      before = loop.ms;
      loop.endTurn();
      assert.ok(loop.ms - before <= turnMs);
    }
    assert.ok(
      all.every(({ left }) => left === 0),
      'every turn was used as long as input waited',
    );
  });
}

test('a single connection with much input continues in every turn, until its own turn is over', () => {
  const loop = new Loop();
  const turnFrames = authorized.turnMs / FRAME_MS;
  const busy = loop.connection(5 * turnFrames, { isAuthorized: true, turnFrames });
  busy.advance();
  for (let turn = 1; turn < 5; turn++) {
    assert.equal(busy.left, (5 - turn) * turnFrames);
    loop.endTurn();
  }
  assert.equal(busy.left, 0);
});

test('unauthorized connections have their turns one after the other', () => {
  const loop = new Loop();
  const [hostile, honest] = [loop.connection(1000, { turnFrames: 2 }), loop.connection(1)];
  hostile.advance();
  loop.ms += unauthorized.turnMs;
  honest.advance();
  assert.equal(honest.left, 1);
  loop.endTurn();
  assert.deepEqual([hostile.left, honest.left], [996, 0]);
});
