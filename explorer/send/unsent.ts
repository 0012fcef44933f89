import { Observable } from '../ui/observable.ts';
import { type Draft, EMPTY_DRAFT } from './draft.ts';
import { SendOnce } from './send-once.ts';

/** What the form of an entity has. */
export interface UnsentState {
  readonly draft: Draft;
  /** The instant before which nobody gets the message, as the field has it; empty = now. */
  readonly scheduled: string;
  /** How many were sent. */
  readonly sent: number;
  /** When the last one is due, epoch ms; undefined = at once. */
  readonly dueAt: number | undefined;
}

/** A message that somebody writes, and what is known of its sending. It outlives the form that shows it. */
export class Unsent {
  readonly state = new Observable<UnsentState>({
    draft: EMPTY_DRAFT,
    scheduled: '',
    sent: 0,
    dueAt: undefined,
  });
  /** Knows what was tried, so that trying again after a lost answer stores nothing twice. */
  readonly once = new SendOnce();

  /** Changes a part of it. */
  change(part: Partial<UnsentState>): void {
    this.state.value = { ...this.state.value, ...part };
  }
}
