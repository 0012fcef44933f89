/** A function that is given its context first, and then what its callers give it. */
type Verb<Context> = (context: Context, ...args: never[]) => unknown;

/** Verbs whose callers need not know the context. */
export type Bound<Context, Verbs> = {
  readonly [Name in keyof Verbs]: Verbs[Name] extends (
    context: Context,
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Result
    : never;
};

/** Binds functions to their first parameter, each under its name. */
export function bindAll<Context, Verbs extends Readonly<Record<string, Verb<Context>>>>(
  context: Context,
  verbs: Verbs,
): Bound<Context, Verbs> {
  const bound = Object.entries(verbs).map(([name, verb]) => [
    name,
    (...args: never[]) => verb(context, ...args),
  ]);
  return Object.fromEntries(bound) as Bound<Context, Verbs>;
}
