import type { Mutant } from '../mutant.ts';

/** Bugs in the scan hints of a process. */
export const SCAN_HINTS: readonly Mutant[] = [
  {
    name: 'a scan hint holds although a lock in front of it has ended',
    room: 'storage',
    find: 'if (now < hint.validUntil && hint.lockScope === lockScope) return hint;',
    replace: 'if (hint.lockScope === lockScope) return hint;',
    harm: 'A message whose lock has run out is not handed out.',
    needs: 'One process receives in vain shortly before a lock ends, and again shortly after.',
  },
  {
    name: 'what a receive chose and did not get stays behind the scan hint',
    room: 'storage',
    find: 'scanHints.invalidateFrom(logName(log), sortKeys);',
    replace: '',
    harm: 'A receive is answered empty while a message is free in front.',
    needs:
      'Receives of several messages: over several partitions, or over several blocks of which one write fails; then another receive in the same process.',
  },
  {
    name: 'what came back in front stays behind the scan hint',
    room: 'storage',
    find: 'if (hint !== undefined && sortKey < hint.skipBefore) this.#hints.delete(log);',
    replace: '',
    harm: 'A message that was abandoned a moment ago is not handed out by the same process.',
    needs: 'Receive, abandon, receive in one process.',
  },
  {
    name: 'scan hints are trusted for a minute',
    room: 'storage',
    find: 'const FRESH_MS = 1500;',
    replace: 'const FRESH_MS = 60_000;',
    harm: 'What another process put back in front long ago is not handed out.',
    needs:
      'A receive in vain in one process, an abandon in another one, a receive seconds later in the first.',
  },
];
