import type * as z from 'zod';

type Given = Readonly<Record<string, unknown>>;

const ONE_FUNCTION = 'since its one function, manage, serves all requests';

/** The settings that a function URL leaves without effect, each with the reason. */
const WITHOUT_EFFECT: readonly (readonly [path: readonly string[], reason: string])[] = [
  'memoryMb',
  'reservedConcurrency',
].flatMap((group) =>
  ['send', 'receive', 'settle'].map((name) => [[group, name], ONE_FUNCTION] as const),
);

/** Those that still apply to the AMQP gateway. */
const WITHOUT_EFFECT_BUT_ON_AMQP: typeof WITHOUT_EFFECT = [
  [['throttle'], 'since reservedConcurrency.manage bounds it'],
  [['accessLogs'], 'since function URLs have no access log'],
];

/**
 * One issue for each setting of a stage that has no effect because its endpoint is a function URL. `given` = the
 * settings without defaults, since a default is no mistake.
 */
export function issuesOfFunctionUrl(given: Given): readonly z.core.$ZodIssueCustom[] {
  if (given['endpoint'] !== 'functionUrl') return [];
  const needless = [
    ...WITHOUT_EFFECT,
    ...(given['amqp'] === undefined ? WITHOUT_EFFECT_BUT_ON_AMQP : []),
  ];
  return needless.flatMap(([path, reason]) => {
    const input = valueAt(given, path);
    if (input === undefined || input === false) return [];
    const message = `left out while endpoint is functionUrl, ${reason}`;
    return [{ code: 'custom', path: [...path], input, message }];
  });
}

function valueAt(given: Given, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Given | null | undefined)?.[name], given);
}
