/** A path without the slashes at its end; a regular expression would take long over many of them. */
export function withoutFinalSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}
