import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

/** An output of a command that is a file. */
interface FileOutput {
  write(text: string, done: (error?: Error) => void): void;
}

/**
 * An output that writes to a file descriptor until all bytes are written. Node's own stream for a file ignores that
 * the system has taken a part only, as it does when the disk becomes full, and so loses the rest without an error.
 * Writing blocks the process. The function of `write` gets the system's error.
 */
export function fileOutput(descriptor: number): FileOutput {
  return {
    write: (text, done) => {
      try {
        writeAll(descriptor, Buffer.from(text));
      } catch (cause) {
        done(cause instanceof Error ? cause : new Error(String(cause)));
        return;
      }
      done();
    },
  };
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, bytes.length - written);
  }
}

/** Whether a descriptor is a file or a device without a terminal, for which node writes without looking back. */
export function isFileOutput(descriptor: number): boolean {
  const kind = fstatSync(descriptor);
  return kind.isFile() || (kind.isCharacterDevice() && !isatty(descriptor));
}
