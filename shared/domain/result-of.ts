/** The value or the error of work, so that one failure among several does not hide the other results. */
export async function resultOf<Value>(
  work: Promise<Value>,
): Promise<{ readonly value: Value } | { readonly error: unknown }> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}
