const PROVED = new WeakSet<Request>();

/** Notes that a rule has signed the token of a request, and gives a right to it. */
export function noteProvedRight(request: Request): void {
  PROVED.add(request);
}

/** Whether a rule gave a right to a request; it says nothing of what was answered. */
export function hasProvedRight(request: Request): boolean {
  return PROVED.has(request);
}
