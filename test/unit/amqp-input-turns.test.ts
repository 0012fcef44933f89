import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InputTurns } from '../../amqp/endpoint/input-turns.ts';
import { Intake } from '../../amqp/endpoint/intake.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';

const FRAME_MS = 1;
const PER_TURN = BUDGETS.turnMs / FRAME_MS;

/** An event loop of which each turn ends when it is told to; a frame takes a millisecond. */
class Loop {
  ms = 0;
  readonly turns = new InputTurns({ now: () => this.ms, soon: (work) => this.#soon.push(work) });
  #soon: (() => void)[] = [];

  endTurn(): void {
    for (const work of this.#soon.splice(0)) work();
  }

  /** A connection with so many frames to be read, and what is left of them. */
  connection(frames: number, { isProved = false, turnFrames = Number.POSITIVE_INFINITY } = {}) {
    const own = { left: frames, advance: () => {} };
    const intake = new Intake({ pause: () => {}, resume: () => {} }, () => own.advance());
    own.advance = () => {
      const limits = { isProved, isTurnOver: false };
      for (let read = 0; own.left > 0 && this.turns.mayGoOn(limits, intake); ) {
        own.left--;
        this.ms += FRAME_MS;
        limits.isTurnOver = ++read >= turnFrames;
      }
    };
    return own;
  }
}

test('what strangers say is read for a moment of each turn, whatever their number', () => {
  const loop = new Loop();
  const strangers = Array.from({ length: 1000 }, () => loop.connection(10, { turnFrames: 5 }));
  for (const one of strangers) one.advance();
  assert.equal(loop.ms, BUDGETS.turnMs);
  const member = loop.connection(1000, { isProved: true });
  member.advance();
  assert.equal(member.left, 0, 'who has proved a right does not wait for them');
  let before = loop.ms;
  loop.endTurn();
  assert.equal(loop.ms - before, BUDGETS.turnMs);
  for (const one of strangers) one.advance();
  assert.equal(loop.ms - before, BUDGETS.turnMs, 'nor more for what comes in besides');
  for (let turns = 2; turns < (1000 * 10) / PER_TURN; turns++) {
    before = loop.ms;
    loop.endTurn();
    assert.ok(loop.ms - before <= BUDGETS.turnMs);
  }
  assert.ok(strangers.every(({ left }) => left === 0));
});

test('strangers have their turns one after the other', () => {
  const loop = new Loop();
  const [hostile, honest] = [loop.connection(1000, { turnFrames: 5 }), loop.connection(1)];
  hostile.advance();
  loop.ms += BUDGETS.turnMs;
  honest.advance();
  assert.equal(honest.left, 1);
  loop.endTurn();
  assert.deepEqual([hostile.left, honest.left], [990, 0]);
});
