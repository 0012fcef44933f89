/** The value or the error of some work. */
export type Result<Value> = { readonly value: Value } | { readonly error: unknown };

/** The value or the error of work, so that one failure among several does not hide the other results. */
export async function resultOf<Value>(work: Promise<Value>): Promise<Result<Value>> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}
