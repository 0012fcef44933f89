/** What needs no test, though it is of this part of the product: the id, and why. */
export const EXCEPTIONS: Readonly<Record<string, string>> = {};
