import { evaluate } from '../../shared/filters/evaluate.ts';
import { matchRules } from '../../shared/filters/match.ts';
import type { Rule } from '../../shared/filters/rule.ts';
import { countingRandom, double, inputOf, int, long, sql, string } from './support.ts';

/** Prints how many evaluations one core does in a second. Not a test: run it with `node --import tsx`. */
const EVALUATIONS = 2_000_000;
const random = countingRandom();
const inputs = [
  ['red', 10],
  ['blue', 3],
  ['green', 12],
].map(([color, quantity]) =>
  inputOf(
    {
      color: string(String(color)),
      quantity: int(Number(quantity)),
      total: long(BigInt(quantity ?? 0) * 100n),
      price: double(9.5),
      region: string('eu-west'),
    },
    { label: 'order' },
  ),
);

const FILTERS: readonly string[] = [
  "color = 'red' AND quantity > 5 AND sys.Label = 'order'",
  "color = 'blue' OR total >= 1000 OR price < 9.0",
  "color IN ('red', 'blue') AND region LIKE 'eu-%' AND EXISTS(price)",
  "missing = 'x' OR NOT (Color <> 'green') OR quantity * 2 + 1 > 20",
];

for (const expression of FILTERS) {
  const filter = sql(expression);
  let matches = 0;
  const run = (count: number): void => {
    for (let index = 0; index < count; index += 1) {
      const input = inputs[index % inputs.length];
      if (input !== undefined && evaluate(filter, input, random) === true) matches += 1;
    }
  };
  run(200_000);
  const start = performance.now();
  run(EVALUATIONS);
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `${Math.round(EVALUATIONS / seconds).toLocaleString('en')}/s  ${expression}  (${matches})`,
  );
}

// What a topic with 1,000 subscriptions costs for one message that nobody has looked at before.
const rules = Array.from(
  { length: 1000 },
  (_, index): Rule => ({
    name: `r${index}`,
    filter: sql(`color = 'c${index}' AND quantity > ${index % 20} AND sys.Label = 'order'`),
    createdAt: 0,
  }),
);
const start = performance.now();
for (let round = 0; round < 200; round += 1) {
  const input = inputOf({ color: string(`c${round}`), quantity: int(99) }, { label: 'order' });
  for (const rule of rules) matchRules([rule], input, random);
}
const seconds = (performance.now() - start) / 1000;
console.log(`${Math.round(200_000 / seconds).toLocaleString('en')}/s  1,000 different filters`);
