import type { OpenQueue } from '../singles/queue-clients.ts';

/** A broker of another project. */
export interface Peer {
  readonly name: string;
  /** What its rates need to be judged, in a few words. */
  readonly how: string;
  /**
   * Starts its server with data of its own. `packages` is the folder with the node packages. Throws
   * NotInstalledError if a program or a package is missing.
   */
  start(packages: string | undefined): Promise<RunningPeer>;
}

/** A broker that runs. */
export interface RunningPeer {
  /** Names and versions of what runs. */
  readonly versions: string;
  readonly open: OpenQueue;
  stop(): Promise<void>;
}

/** Starts something that must be stopped again if the rest of the start fails. */
export async function stoppingOnFailure<Result>(
  stop: () => Promise<void>,
  start: () => Promise<Result>,
): Promise<Result> {
  try {
    return await start();
  } catch (error) {
    await stop();
    throw error;
  }
}
