import { evaluate } from '../shared/filters/evaluation/evaluate.ts';
import type { FilterInput } from '../shared/filters/filter-input.ts';
import { matchRules } from '../shared/filters/match.ts';
import type { Rule } from '../shared/filters/rule.ts';
import {
  countingRandom,
  double,
  inputOf,
  int,
  long,
  sql,
  string,
} from '../test/filters/support.ts';

/** How fast one core evaluates a filter. */
export interface FilterRate {
  /** The filter, or a description of several, as Markdown. */
  readonly filter: string;
  readonly perSecond: number;
}

/** The first one is the kind that applications write most often. */
const FILTERS = [
  "color = 'red' AND quantity > 5 AND sys.Label = 'order'",
  "color = 'blue' OR total >= 1000 OR price < 9.0",
  "color IN ('red', 'blue') AND region LIKE 'eu-%' AND EXISTS(price)",
  "missing = 'x' OR NOT (Color <> 'green') OR quantity * 2 + 1 > 20",
] as const;
/** Evaluations between two readings of the clock. */
const STEP = 1000;
const RULES = 1000;
/** The fraction of the time for warming up, in which the compiler optimizes the code. */
const WARM_UP = 0.25;

const random = countingRandom();

/** Evaluates each filter for some time, in this process and on one core. */
export function measureFilters(ms: number): readonly FilterRate[] {
  const rates = FILTERS.map((filter) => ({
    filter: `\`${filter}\``,
    perSecond: rateOf(evaluations(filter), ms),
  }));
  const many = {
    filter: `${RULES.toLocaleString('en-US')} different ones with 3 clauses, each on a new message`,
    perSecond: rateOf(messagesOverRules(), ms),
  };
  return [...rates, many];
}

/** Evaluations a second; each call of `step` makes `STEP` of them. */
function rateOf(step: () => void, ms: number): number {
  runFor(step, ms * WARM_UP);
  return runFor(step, ms);
}

function runFor(step: () => void, ms: number): number {
  const begun = performance.now();
  let steps = 0;
  do {
    step();
    steps++;
  } while (performance.now() - begun < ms);
  return (steps * STEP) / ((performance.now() - begun) / 1000);
}

/** One filter on messages, some of which match. */
function evaluations(expression: string): () => void {
  const filter = sql(expression);
  const inputs = [order('red', 10), order('blue', 3), order('green', 12)];
  return () => {
    for (let i = 0; i < STEP; i++) {
      const input = inputs[i % inputs.length];
      if (input !== undefined) evaluate(filter, input, random);
    }
  };
}

function order(color: string, quantity: number): FilterInput {
  return inputOf(
    {
      color: string(color),
      quantity: int(quantity),
      total: long(BigInt(quantity) * 100n),
      price: double(9.5),
      region: string('eu-west'),
    },
    { label: 'order' },
  );
}

/** The filters of a topic with many subscriptions, on messages that are all different. */
function messagesOverRules(): () => void {
  const rules = Array.from(
    { length: RULES },
    (_, i): Rule => ({
      name: `r${i}`,
      filter: sql(`color = 'c${i}' AND quantity > ${i % 20} AND sys.Label = 'order'`),
      createdAt: 0,
    }),
  );
  let messages = 0;
  return () => {
    const color = string(`c${messages++ % RULES}`);
    const input = inputOf({ color, quantity: int(99) }, { label: 'order' });
    for (const rule of rules) matchRules([rule], input, random);
  };
}
