import type { Stretch } from './copy.ts';

/** Stretches of time in which somebody may have been at work at a path, unheard. */
export class Disturbances {
  readonly #stretches = new Map<string, Stretch[]>();

  add(path: string, from: number, to: number): void {
    const stretches = this.#stretches.get(path) ?? [];
    stretches.push({ from, to });
    this.#stretches.set(path, stretches);
  }

  /** Whether there was one between two instants. */
  isAny(path: string, from: number, to: number): boolean {
    return (this.#stretches.get(path) ?? []).some((one) => one.from <= to && one.to >= from);
  }

  /** Whether there was one whose effect stays. */
  isForEver(path: string): boolean {
    return (this.#stretches.get(path) ?? []).some(({ to }) => to === Number.POSITIVE_INFINITY);
  }
}
