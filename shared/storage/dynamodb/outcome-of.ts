/** What work comes to, so that one failure among several need not hide what the others did. */
export async function outcomeOf<Value>(
  work: Promise<Value>,
): Promise<{ readonly value: Value } | { readonly error: unknown }> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}
