import { Observable } from '../ui/observable.ts';

/** Something that did not work. */
export interface Problem {
  /** What it is about: `message 17`. */
  readonly of: string;
  readonly why: string;
}

/** A piece of work. */
export interface Job {
  /** What is done, as it is said in front of a number: `Resubmitted`. */
  readonly title: string;
  /** What it is done with, as it is said after the number: `from orders/$deadletterqueue`. */
  readonly what: string;
  /** How many there are to do; absent = not known. */
  readonly total?: number;
}

/** How far a piece of work is. */
export interface JobState extends Job {
  readonly done: number;
  /** The first problems, and how many there are. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  readonly isRunning: boolean;
  readonly isStopped: boolean;
  /** What ended the work early. */
  readonly error?: unknown;
  /** What can be done next, such as to undo what was done. It changes something. */
  readonly offer?: { readonly title: string; readonly run: () => void } | undefined;
  /** How it ended, in place of the numbers. */
  readonly sentence?: string;
}

/** What a piece of work tells while it goes on. */
export interface JobProgress {
  done(count: number): void;
  problem(of: string, why: string): void;
  offer(offer: JobState['offer']): void;
  /** How many there are to do, once that is known. */
  total(count: number): void;
  /** Says how it ended, where no number does. */
  sentence(sentence: string): void;
  /** Whether somebody wants it to stop: before each call it looks here. */
  isStopped(): boolean;
}

const OTHER_RUNS = 'Nothing was done, because other work runs: it is shown at the bottom.';
/** Problems that are kept to be read. */
const PROBLEMS_MAX = 1_000;
/** Results that are kept because of their offers, while others are shown. */
const EARLIER_MAX = 10;

/** The work of the page that takes more than one call: one piece at a time, which can be stopped between calls. */
export class Jobs {
  /** The work that runs or has ended last; undefined once it was put away. */
  readonly current = new Observable<JobState | undefined>(undefined);
  #isStopped = false;
  /** Results whose offers were open when other work began, the latest last. */
  readonly #earlier: JobState[] = [];
  /** Whether the work that begins is what was offered. */
  #isTaken = false;

  /** The titles of all that is offered, the latest first; also of results that are shown again later. */
  get offers(): readonly string[] {
    const { value } = this.current;
    const results = value === undefined ? this.#earlier : [...this.#earlier, value];
    return results.flatMap(({ offer }) => (offer === undefined ? [] : [offer.title])).reverse();
  }

  /**
   * Does a piece of work, if no other one runs. Resolves when it has ended, with the error that has ended it early; how
   * far it came is in `current`.
   */
  async run(job: Job, work: (progress: JobProgress) => Promise<void>): Promise<unknown> {
    if (this.current.value?.isRunning) return new Error(OTHER_RUNS);
    this.#isStopped = false;
    this.#keepOffer();
    this.current.value = {
      ...job,
      done: 0,
      problems: [],
      problemCount: 0,
      isRunning: true,
      isStopped: false,
    };
    try {
      await work(this.#progress());
      this.#change({ isRunning: false, isStopped: this.#isStopped });
      return undefined;
    } catch (error) {
      this.#change({ isRunning: false, error });
      return error;
    }
  }

  /** Asks the work that runs to stop. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Puts the result away with its offer, and shows the one before whose offer is open. */
  close(): void {
    if (!this.current.value?.isRunning) this.current.value = this.#earlier.pop();
  }

  /** Keeps the result that is shown, unless its offer is what begins now. */
  #keepOffer(): void {
    const { value } = this.current;
    if (value?.offer === undefined || this.#isTaken) return;
    this.#earlier.push(value);
    if (this.#earlier.length > EARLIER_MAX) this.#earlier.shift();
  }

  #take(run: () => void): void {
    this.#isTaken = true;
    try {
      run();
    } finally {
      this.#isTaken = false;
    }
  }

  #progress(): JobProgress {
    return {
      done: (count) => this.#change({ done: (this.current.value?.done ?? 0) + count }),
      problem: (of, why) => {
        const { problems = [], problemCount = 0 } = this.current.value ?? {};
        this.#change({
          problemCount: problemCount + 1,
          problems: problems.length < PROBLEMS_MAX ? [...problems, { of, why }] : problems,
        });
      },
      offer: (offer) =>
        this.#change({ offer: offer && { ...offer, run: () => this.#take(offer.run) } }),
      total: (total) => this.#change({ total }),
      sentence: (sentence) => this.#change({ sentence }),
      isStopped: () => this.#isStopped,
    };
  }

  #change(part: Partial<JobState>): void {
    const { value } = this.current;
    if (value !== undefined) this.current.value = { ...value, ...part };
  }
}
