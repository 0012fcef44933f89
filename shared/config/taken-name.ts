/** The sentence about a name that another part of the configuration has. */
export function takenName(name: string, other: string): string {
  return `The name '${name}' is that of ${other} too, and case does not count: choose another.`;
}
